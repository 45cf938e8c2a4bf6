//go:build unix

package storagetest

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// An account is the user that the server runs as when the tests run as root, which PostgreSQL refuses. The nil
// account is the process's own user.
type account struct{ uid, gid uint32 }

func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // the nil account is the process's own
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL refuses to run as root, and there is no user postgres to run it as: "+
			"run the tests as another user, or install the package postgresql: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("uid of the user postgres: %w", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("gid of the user postgres: %w", err)
	}
	return &account{uint32(uid), uint32(gid)}, nil
}

// own gives a file to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}
