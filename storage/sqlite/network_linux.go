package sqlite

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Magic numbers of file systems whose files other machines may write. See statfs(2).
var networkMagic = map[int64]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.CIFS_SUPER_MAGIC: "CIFS",
	unix.SMB2_SUPER_MAGIC: "SMB2",
	unix.FUSE_SUPER_MAGIC: "FUSE",
	unix.V9FS_MAGIC:       "9P",
	unix.CEPH_SUPER_MAGIC: "Ceph",
	unix.AFS_SUPER_MAGIC:  "AFS",
	unix.CODA_SUPER_MAGIC: "Coda",
}

// networkFS names the network file system that holds path (or its folder, where there is no such file yet); ""
// when it is local or cannot be told.
func networkFS(path string) string {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil && unix.Statfs(filepath.Dir(path), &st) != nil {
		return ""
	}
	// The field's type, and its sign, differ between architectures; the magic has 32 bits.
	return networkMagic[int64(uint32(st.Type))] //nolint:gosec // its 32 bits are wanted
}
