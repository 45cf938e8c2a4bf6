// Package memory is the engine for queues that live in the same process: for programs that embed leadsman and
// for tests of everything above the engines.
//
// A [Store] is the queues and their reader in one. Whoever enqueues calls Enqueue, Schedule, Claim and Finish, or
// states with Set what a queue looks like; leadsman reads through driver.Reader and is told of each change
// through driver.Watcher. Time is the process's own, so a Store made in a testing/synctest bubble follows the
// bubble's clock.
package memory
