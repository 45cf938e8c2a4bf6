package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var embedded embed.FS

// kinds are the content types of the assets; not the system's, which differ.
var kinds = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// An asset is one file of the page. Browsers keep it and ask whether it has changed: a new version of the server is
// seen at once.
type asset struct {
	path string // of the URL, as http.ServeMux has it
	kind string
	tag  string
	data []byte
}

// loadAssets returns every file of the page.
func loadAssets() ([]*asset, error) {
	names, err := fs.Glob(embedded, "assets/*")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	all := make([]*asset, len(names))
	for i, name := range names {
		data, err := embedded.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("page: %w", err)
		}
		sum := sha256.Sum256(data)
		all[i] = &asset{
			path: "/page/" + path.Base(name), kind: kinds[path.Ext(name)], tag: `"` + hex.EncodeToString(sum[:8]) + `"`, data: data,
		}
		if path.Base(name) == "index.html" {
			all[i].path = "/{$}"
		}
	}
	return all, nil
}

// ServeHTTP implements http.Handler.
func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.data))
}
