//go:build !linux

package rig

import "os/exec"

// dieWithUs does nothing: only Linux ends a process with its parent.
func dieWithUs(*exec.Cmd) {}
