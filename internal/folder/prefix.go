package folder

import (
	"io/fs"
	"path"
	"strings"
)

// WithPrefix returns a folder whose file names carry the prefix, as a user writes them from another
// directory. Names without the prefix lead out of the folder.
func Named(prefix string, files fs.FS) fs.FS {
	if prefix = path.Clean(prefix); prefix == "." {
		return files
	}
	return named{prefix, files}
}

type named struct {
	prefix string
	files  fs.FS
}

func (n named) Open(name string) (fs.File, error) {
	if name == n.prefix {
		return n.files.Open(".")
	}
	rest, ok := strings.CutPrefix(name, n.prefix+"/")
	if !ok {
		return nil, failed(name, ErrOutside)
	}
	return n.files.Open(rest)
}
