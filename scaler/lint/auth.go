package lint

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/internal/kube"
	"github.com/leadsman/leadsman/internal/spell"
)

// The ways in which KEDA shows who it is over HTTP (authentication.Config in pkg/scalers/authentication).
const (
	modeBearer = "bearer"
	modeAPIKey = "apiKey"
	modeTLS    = "tls"
	modeBasic  = "basic"
)

var authModes = []string{modeBearer, modeAPIKey, modeTLS, modeBasic, "custom", "oauth"}

// checkAuthModes looks at how KEDA shows leadsman who it is.
func (l *Linter) checkAuthModes(o *object, t *readTrigger, u *url.URL) {
	given, path := t.value("authModes"), t.metadata("authModes")
	if given == "" && t.value("authMode") != "" {
		given, path = t.value("authMode"), t.metadata("authMode")
	}
	has := l.parametersOf(o, t)
	if l.HTTP != nil && l.HTTP.TLS && u.Scheme == schemeHTTP {
		o.warn(t.metadata(keyURL), "is http, and the server speaks TLS", "write https, unless something in between takes the TLS away")
	}
	if given == "" {
		l.checkNoModes(o, t, path, has, u)
		return
	}
	for mode := range strings.SplitSeq(given, ",") {
		switch mode = strings.TrimSpace(mode); mode {
		case modeBearer:
			o.needs(t, path, has, "the token", "token", "bearerToken")
		case modeAPIKey:
			o.checkAPIKey(t, path, has)
		case modeTLS:
			o.needs(t, path, has, "the certificate", "cert")
			o.needs(t, path, has, "its key", "key")
			if u.Scheme == schemeHTTP {
				o.warn(t.metadata(keyURL), "is http, where no certificate is shown", "write https")
			}
		default:
			remedy := "write bearer"
			if meant := spell.Nearest(mode, authModes); meant != "" && meant != mode {
				remedy = "write " + meant
			}
			o.fail(path, strconv.Quote(clip(mode))+" is no way into leadsman, which takes bearer, apiKey and tls", remedy)
		}
	}
}

// checkNoModes looks at a trigger by which KEDA shows nothing. A parameter of a TriggerAuthentication may be authModes.
func (l *Linter) checkNoModes(o *object, t *readTrigger, path string, has []string, u *url.URL) {
	parameters, _ := url.ParseQuery(u.RawQuery)
	const remedy = "write authModes: bearer, and an authenticationRef to a TriggerAuthentication with the parameter token"
	switch locked := l.HTTP != nil && l.HTTP.Locked; {
	case slices.Contains(has, "authModes"), slices.Contains(has, "authMode"), parameters.Has("token"), parameters.Has("api_key"):
	case t.AuthenticationRef != nil && has == nil: // nobody knows what it holds
		o.note(path, "is missing: unless "+t.AuthenticationRef.Name+" has it for a parameter, KEDA shows leadsman nothing of it", remedy)
	case t.AuthenticationRef != nil:
		o.fail(path, "is missing, and KEDA shows leadsman nothing of "+t.AuthenticationRef.Name+" without it", remedy)
	case locked:
		o.fail(path, "is missing, and the server lets nobody in without a token or a certificate", remedy)
	}
}

// checkAPIKey looks at a token that travels as a key.
func (o *object) checkAPIKey(t *readTrigger, path string, has []string) {
	if t.value("apiKey") != "" {
		o.warn(t.metadata("apiKey"), "whoever may read the "+o.Kind+" reads the token",
			"put it into a Secret, and give it by a TriggerAuthentication with the parameter apiKey")
	} else {
		o.needs(t, path, has, "the token", "apiKey")
	}
	name := t.value("keyParamName")
	switch method := t.value("method"); {
	case name == "":
	case method == "query" && name != "api_key" && name != "token":
		o.fail(t.metadata("keyParamName"), "leadsman takes no token as parameter "+strconv.Quote(clip(name)), "write api_key, or remove it")
	case method != "query" && !strings.EqualFold(name, "X-API-KEY"):
		o.fail(t.metadata("keyParamName"), "leadsman takes no token as header "+strconv.Quote(clip(name)), "write X-API-KEY, or remove it")
	}
}

// needs says that what a mode needs is given by nobody. With has nil, a TriggerAuthentication gives what nobody knows.
func (o *object) needs(t *readTrigger, path string, has []string, what string, names ...string) {
	right := "write a TriggerAuthentication with the parameter " + names[0]
	switch {
	case t.AuthenticationRef == nil:
		o.fail(path, "there is no authenticationRef that gives "+what+", and KEDA refuses the trigger",
			right+", and an authenticationRef to it")
	case has != nil && !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(has, name) }):
		o.fail(t.path+".authenticationRef", t.AuthenticationRef.Name+" has no parameter "+names[0]+", and KEDA refuses the trigger", right)
	}
}

// parametersOf are those that the trigger's TriggerAuthentication gives; nil where it is not among the documents, or takes
// some from elsewhere.
func (l *Linter) parametersOf(o *object, t *readTrigger) []string {
	ref := t.AuthenticationRef
	if ref == nil {
		return nil
	}
	for _, a := range l.objects {
		cluster := a.Kind == kube.KindClusterTriggerAuthentication && ref.Kind == a.Kind
		own := a.Kind == kube.KindTriggerAuthentication && (ref.Kind == "" || ref.Kind == a.Kind) &&
			a.Metadata.Namespace == o.Metadata.Namespace
		if !cluster && !own || a.Metadata.Name != ref.Name {
			continue
		}
		all := []string{}
		for key := range a.Raw {
			if !slices.Contains([]string{"secretTargetRef", "configMapTargetRef", "env"}, key) {
				return nil // a vault, or a file
			}
		}
		for _, p := range slices.Concat(a.Spec.SecretTargetRef, a.Spec.ConfigMapTargetRef, a.Spec.Env) {
			all = append(all, p.Parameter)
		}
		return all
	}
	return nil
}
