package rig

import (
	"os/exec"
	"syscall"
)

// dieWithUs has the kernel kill the command's process when this one ends in whatever way, a timeout's panic among them.
func dieWithUs(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
