// Package redistest is what presets for job queues in Redis are tested with beyond the conformance suite: a harness for
// storagetest.Run ([Harness]), the commands that a read sends, as text to be reviewed ([Commands]), and the user that a
// README's ACL line makes ([User]). It is imported by tests only.
package redistest
