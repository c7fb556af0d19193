package folder

import (
	"io/fs"
	"path"
	"strings"
)

// Named is a folder whose files carry the prefix in their names, as a person sees
// them from elsewhere. Names without the prefix lead out of the folder.
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
