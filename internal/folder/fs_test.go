package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lay writes a folder "app" beside a secret, and returns it.
func lay(t *testing.T) (dir string, files fs.FS) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "app")
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(top, "secret"), []byte("PLANTED"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("a"), 0o600))
	return dir, New(dir)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skip(err) // Windows without the privilege
	}
}

func TestLinksAreFollowedInsideTheFolderOnly(t *testing.T) {
	dir, files := lay(t)
	link(t, "a.yaml", filepath.Join(dir, "inside.yaml"))
	link(t, "../a.yaml", filepath.Join(dir, "sub", "up.yaml"))
	link(t, "../secret", filepath.Join(dir, "relative.yaml"))
	link(t, filepath.Join(dir, "..", "secret"), filepath.Join(dir, "absolute.yaml"))
	link(t, "..", filepath.Join(dir, "out"))
	for _, name := range []string{"a.yaml", "inside.yaml", "sub/up.yaml"} {
		if data, err := fs.ReadFile(files, name); err != nil || string(data) != "a" {
			t.Errorf("%s: %q %v", name, data, err)
		}
	}
	for _, name := range []string{"relative.yaml", "absolute.yaml", "out/secret", "../secret"} {
		data, err := fs.ReadFile(files, name)
		if !errors.Is(err, ErrOutside) || len(data) > 0 {
			t.Errorf("%s: %q %v", name, data, err)
		}
	}
	if _, err := fs.ReadFile(files, "none.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestLargeFilesAreNotRead(t *testing.T) {
	dir, files := lay(t)
	for size, fits := range map[int64]bool{Limit: true, Limit + 1: false, 60 << 20: false} {
		must(t, os.WriteFile(filepath.Join(dir, "big"), nil, 0o600))
		must(t, os.Truncate(filepath.Join(dir, "big"), size))
		data, err := fs.ReadFile(files, "big")
		if (err == nil) != fits || fits && int64(len(data)) != size {
			t.Errorf("%d bytes: %d read, %v", size, len(data), err)
		}
	}
}

// A file may give more than its size says, as those of /proc do.
func TestReadingEndsAtTheLimit(t *testing.T) {
	dir, _ := lay(t)
	name := filepath.Join(dir, "grows")
	must(t, os.WriteFile(name, nil, 0o600))
	must(t, os.Truncate(name, 3))
	from, err := os.Open(name)
	must(t, err)
	defer from.Close()
	f := &file{source: from, remaining: 2}
	n, err := f.Read(make([]byte, 10))
	if n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if n, err = f.Read(make([]byte, 10)); n != 0 || err == nil || !strings.Contains(err.Error(), "more than") {
		t.Fatal(n, err)
	}
}

func TestNamedFilesKeepTheirPrefix(t *testing.T) {
	_, files := lay(t)
	seen := WithPrefix("services/app", files)
	if data, err := fs.ReadFile(seen, "services/app/a.yaml"); err != nil || string(data) != "a" {
		t.Errorf("%q %v", data, err)
	}
	if info, err := fs.Stat(seen, "services/app"); err != nil || !info.IsDir() {
		t.Error(info, err)
	}
	for _, name := range []string{"services/secret", "a.yaml", "services/apple/a.yaml"} {
		if _, err := fs.ReadFile(seen, name); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
