package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// userID is the user and the group of the image. Kubernetes checks runAsNonRoot by a number.
const userID = "65532"

// imageName is the name of the image: sluice_1.2.3_image.tar, an OCI image layout with an image for each architecture.
func (r *Release) imageName() string { return "sluice_" + r.Number() + "_image.tar" }

// writeImage writes the container image of sluice for Linux.
func (r *Release) writeImage(d *dist) error {
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	found := false
	for _, b := range r.binariesOf(sluiceCommand) {
		if b.Platform.OS != "linux" {
			continue
		}
		found = true
		image, err := r.image(b)
		if err != nil {
			return fmt.Errorf("image for %s: %w", b.Platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: b.Platform.OS, Architecture: b.Platform.Arch}}})
	}
	if !found {
		return nil
	}
	index = mutate.Annotations(index, r.labels()).(v1.ImageIndex)
	dir, err := os.MkdirTemp("", "sluice-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	outer, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := outer.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.Number()})); err != nil {
		return err
	}
	data, err := packFolder(dir, r.Time)
	if err != nil {
		return err
	}
	return d.write(r.imageName(), data)
}

func packFolder(dir string, at time.Time) ([]byte, error) {
	var entries []entry
	err := filepath.WalkDir(dir, func(path string, f fs.DirEntry, err error) error {
		if err != nil || f.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		entries = append(entries, entry{filepath.ToSlash(name), fileMode, data})
		return err
	})
	if err != nil {
		return nil, err
	}
	return packTar(entries, at)
}

// image is the image for one architecture: the program, the certificates of authorities, and a user. There is no shell.
func (r *Release) image(b Binary) (v1.Image, error) {
	entries, err := r.imageFiles(b)
	if err != nil {
		return nil, err
	}
	data, err := packTar(withFolders(entries), r.Time)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	layer, err := tarball.LayerFromOpener(open,
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: r.Time}, CreatedBy: "sluice " + r.Version}})
	if err != nil {
		return nil, err
	}
	image, err = mutate.ConfigFile(image, r.imageConfig(b, image))
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, r.labels()).(v1.Image), nil
}

// withFolders adds the folders of the files. Docker's engine lets only root into a folder that a layer leaves out.
func withFolders(entries []entry) []entry {
	has := map[string]bool{}
	for _, e := range entries {
		has[e.name] = true
	}
	for _, e := range entries {
		for dir := path.Dir(strings.TrimSuffix(e.name, "/")); dir != "." && !has[dir+"/"]; dir = path.Dir(dir) {
			has[dir+"/"] = true
			entries = append(entries, entry{dir + "/", programMode, nil})
		}
	}
	return entries
}

func (r *Release) imageConfig(b Binary, image v1.Image) *v1.ConfigFile {
	old, err := image.ConfigFile()
	if err != nil {
		old = &v1.ConfigFile{}
	}
	c := old.DeepCopy()
	c.OS, c.Architecture, c.Created = b.Platform.OS, b.Platform.Arch, v1.Time{Time: r.Time}
	c.Config = v1.Config{Entrypoint: []string{"/usr/bin/sluice"}, User: userID + ":" + userID, WorkingDir: "/work",
		Env:    []string{"PATH=/usr/bin", "HOME=/home/sluice", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		Labels: r.labels()}
	return c
}

func (r *Release) labels() map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{prefix + "title": "sluice", prefix + "description": description,
		prefix + "version": r.Number(), prefix + "revision": r.Commit, prefix + "created": r.Time.Format(time.RFC3339),
		prefix + "source": repository, prefix + "url": repository,
		prefix + "documentation": repository + "/blob/" + r.Version + "/docs/README.md",
		prefix + "licenses":      "Apache-2.0", prefix + "vendor": "sluice-ecs"}
}

func (r *Release) imageFiles(b Binary) ([]entry, error) {
	installed, err := r.installedFiles(b)
	if err != nil {
		return nil, err
	}
	certificates, err := authorities()
	if err != nil {
		return nil, err
	}
	all := []entry{{"etc/ssl/certs/ca-certificates.crt", fileMode, certificates},
		{"etc/passwd", fileMode, []byte("root:x:0:0::/:/none\nsluice:x:" + userID + ":" + userID + "::/home/sluice:/none\n")},
		{"etc/group", fileMode, []byte("root:x:0:\nsluice:x:" + userID + ":\n")},
		// Everyone may write there, as a person runs the image with --user for the files in /work to be theirs.
		{"home/sluice/", 0o1777, nil}, {"tmp/", 0o1777, nil}, {"work/", 0o1777, nil}}
	for _, e := range installed {
		if e.name == "usr/bin/sluice" || filepath.Dir(e.name) == "usr/share/doc/sluice" {
			all = append(all, e)
		}
	}
	return all, nil
}

// authorities are the root certificates that Mozilla trusts, of the version of the bundle in go.mod: the same on every
// machine. Those that Mozilla trusts only under a condition are left out, because a file cannot say the condition.
func authorities() ([]byte, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
