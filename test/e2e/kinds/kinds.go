// Package kinds has in its go.mod the operators whose kinds of objects we ship and make: Prometheus' and cert-manager. Their modules
// hold the CustomResourceDefinitions that they install, and a cluster for tests takes them from there. It is a module of its
// own because what else the operators need does not go together with KEDA.
package kinds

// A module is kept in go.mod for a package of it that is imported. These are small.
import (
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager"          // see above
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil" // likewise
)
