package auth

import (
	"slices"
	"time"
)

// An Identity is a caller that has proved itself. Its questions are answered by the grant it was made from and by
// the clock: an identity that has expired may do nothing, and nor may the zero Identity.
type Identity struct {
	name    string
	grant   *Grant // nil: nothing
	expires time.Time
}

// anyone is the identity of every caller of an open server.
func anyone() Identity { return Identity{name: "anyone", grant: &Grant{}} }

// String names the identity for logs: its kind and the grant's ID.
func (i Identity) String() string {
	if i.grant == nil {
		return "nobody"
	}
	return i.name
}

// Expires returns when the identity ends, so that a stream can end with it; zero means never.
func (i Identity) Expires() time.Time { return i.expires }

// Allows tells whether requests of this scope are granted.
func (i Identity) Allows(scope Scope) bool {
	return i.valid() && within(i.grant.Scopes, scope)
}

// Source tells whether the named source is granted.
func (i Identity) Source(name string) bool {
	return i.valid() && within(i.grant.Sources, name)
}

// Namespace tells whether objects of the Kubernetes namespace are granted.
func (i Identity) Namespace(name string) bool {
	return i.valid() && within(i.grant.Namespaces, name)
}

// Queue tells whether the queue of this name, taken literally, is granted.
func (i Identity) Queue(name string) bool {
	return i.queues(name, false)
}

// QueuePattern tells whether every queue that a trigger's pattern can ever stand for is granted; "" stands for all
// queues. One glob of the grant has to cover it alone: "mail-*" covers "mail-a*", but not "mail*".
func (i Identity) QueuePattern(pattern string) bool {
	if pattern == "" {
		pattern = "*"
	}
	return i.queues(canonical(pattern), true)
}

// EveryQueue tells whether the grant does not limit the queues.
func (i Identity) EveryQueue() bool { return i.valid() && len(i.grant.Queues) == 0 }

// Everything tells whether the grant limits neither sources nor queues nor namespaces.
func (i Identity) Everything() bool {
	return i.EveryQueue() && len(i.grant.Sources) == 0 && len(i.grant.Namespaces) == 0
}

func (i Identity) queues(text string, isPattern bool) bool {
	if !i.valid() {
		return false
	}
	return len(i.grant.Queues) == 0 || slices.ContainsFunc(i.grant.Queues, func(glob string) bool {
		return match(glob, text, isPattern)
	})
}

// Check returns a [DeniedError] unless the scope is granted.
func (i Identity) Check(scope Scope) error {
	if i.Allows(scope) {
		return nil
	}
	return i.Denied("scope", string(scope))
}

// Denied makes the error that tells the caller what is missing: what is "source", "queue" and the like, name the
// one that was asked for.
func (i Identity) Denied(what, name string) error {
	return &DeniedError{Who: i.String(), What: what, Name: shorten(name)}
}

func (i Identity) valid() bool { return i.grant != nil && !expired(i.expires) }

// within tells whether a list of a grant, in which empty means no limit, has the item.
func within[T comparable](list []T, item T) bool {
	return len(list) == 0 || slices.Contains(list, item)
}
