// Package redistest is what presets for job queues in Redis are tested with beyond the conformance suite: a harness for
// storagetest.Run ([Harness]), a server with an engine ([Start]), the commands that a read sends, as text to be reviewed
// ([Golden]), the user that a README's ACL line makes ([LeastPrivilege]), what a fixture writes by ([Writer]), and
// comparisons of what is read with what is expected ([Expect], [Unknown], [Fails]) and with what a job library reports
// ([Agrees]). It is imported by tests only.
package redistest
