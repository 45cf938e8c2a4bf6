package lint

import (
	"strings"

	"github.com/leadsman/leadsman/internal/kube"
	"github.com/leadsman/leadsman/storage/driver"
)

// An object is one of the manifests, with what is to be said of it.
type object struct {
	*kube.Object

	file     string
	findings []Finding
}

func (o *object) isHPA() bool {
	return o.Kind == kube.KindHPA && strings.HasPrefix(o.APIVersion, "autoscaling/")
}

// scales tells whether lint looks at the object for its own sake.
func (o *object) scales() bool {
	return o.Kind == kube.KindScaledObject || o.Kind == kube.KindScaledJob || o.isHPA() && !o.kedas()
}

// kedas tells whether an HPA is the one that KEDA makes of a ScaledObject.
func (o *object) kedas() bool {
	for _, owner := range o.Metadata.OwnerReferences {
		if owner.Kind == kube.KindScaledObject {
			return true
		}
	}
	return o.Metadata.Labels["app.kubernetes.io/managed-by"] == "keda-operator"
}

// checkTypes finds a value that the API server would refuse for its type.
func (o *object) checkTypes() {
	if o.Wrong != nil {
		o.fail(o.Wrong.Key, "is "+o.Wrong.Is, "write "+o.Wrong.Want)
	}
}

// say adds a finding. Where the object is, is added at the end.
func (o *object) say(level driver.Level, key, found, remedy string) {
	o.findings = append(o.findings, Finding{Key: key, Level: level, Found: found, Remedy: remedy})
}

func (o *object) ok(key, found string) { o.say(driver.LevelOK, key, found, "") }

// refuse is fail for what KEDA refuses, or can do nothing with whatever the answer is.
func (o *object) refuse(key, found, remedy string) {
	o.fail(key, found, remedy)
	o.findings[len(o.findings)-1].refused = true
}

func (o *object) fail(key, found, remedy string) { o.say(driver.LevelFail, key, found, remedy) }
func (o *object) warn(key, found, remedy string) { o.say(driver.LevelWarn, key, found, remedy) }
func (o *object) note(key, found, remedy string) { o.say(driver.LevelNote, key, found, remedy) }
