package folder

import (
	"io/fs"
	"path"
	"strings"
)

// WithPrefix returns a folder whose file names carry the prefix, as a user writes them from another
// directory. Names without the prefix lead out of the folder.
func WithPrefix(prefix string, files fs.FS) fs.FS {
	if prefix = path.Clean(prefix); prefix == "." {
		return files
	}
	return prefixedFS{prefix, files}
}

type prefixedFS struct {
	prefix string
	files  fs.FS
}

func (n prefixedFS) Open(name string) (fs.File, error) {
	if name == n.prefix {
		return n.files.Open(".")
	}
	rest, ok := strings.CutPrefix(name, n.prefix+"/")
	if !ok {
		return nil, openError(name, ErrOutside)
	}
	return n.files.Open(rest)
}

// NameOf returns the name of a file by its absolute path; see [FS.NameOf].
func (n prefixedFS) NameOf(file string) (name string, ok bool) {
	folder, hasNames := n.files.(interface{ NameOf(string) (string, bool) })
	if !hasNames {
		return "", false
	}
	name, ok = folder.NameOf(file)
	return path.Join(n.prefix, name), ok
}
