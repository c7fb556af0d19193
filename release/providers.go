package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// writePulumi writes the archives of the Pulumi provider under the names that pulumi plugin install asks for:
// pulumi-resource-sluice-v1.2.3-linux-amd64.tar.gz.
func (r *Release) writePulumi(d *dist) error {
	for _, b := range r.binariesOf(pulumiCommand) {
		entries, err := r.archiveEntries(b)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%s-%s-%s.tar.gz", pulumiCommand, r.Version, b.Platform.OS, b.Platform.Arch)
		if err := r.writeArchive(d, name, b, entries, packTarGz); err != nil {
			return err
		}
	}
	return nil
}

// writePiped writes the plugin of piped, which fetches a program by its URL and unpacks nothing. The licences and the list
// of modules are beside it.
func (r *Release) writePiped(d *dist) error {
	for _, b := range r.binariesOf(pipedCommand) {
		program, err := os.ReadFile(b.Path)
		if err != nil {
			return err
		}
		texts, err := r.licenses.texts(b)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s_%s_%s_%s%s", pipedCommand, r.Number(), b.Platform.OS, b.Platform.Arch, b.Platform.exe())
		if err := d.write(name, program); err != nil {
			return err
		}
		if err := d.write(name+".licenses.txt", slices.Concat(r.License, []byte("\n"), texts)); err != nil {
			return err
		}
		if err := r.writeModules(d, name, b); err != nil {
			return err
		}
	}
	return nil
}

// mirrorPath is the folder of the Terraform provider in a mirror.
const mirrorPath = "registry.terraform.io/sluice-ecs/sluice"

// writeTerraform writes the archives of the Terraform provider, as its registry requires them, and a mirror. The
// registry also requires a signature of the checksums, for which the release has no key.
func (r *Release) writeTerraform(d *dist) error {
	prefix := terraformCommand + "_" + r.Number()
	mirror := map[string]any{}
	var inMirror []entry
	for _, b := range r.binariesOf(terraformCommand) {
		entries, err := r.archiveEntries(b)
		if err != nil {
			return err
		}
		entries[0].name = terraformCommand + "_" + r.Version + b.Platform.exe()
		name := fmt.Sprintf("%s_%s_%s.zip", prefix, b.Platform.OS, b.Platform.Arch)
		if err := r.writeArchive(d, name, b, entries, packZip); err != nil {
			return err
		}
		data, err := d.read(name)
		if err != nil {
			return err
		}
		inMirror = append(inMirror, entry{path.Join(mirrorPath, name), fileMode, data})
		mirror[b.Platform.OS+"_"+b.Platform.Arch] = map[string]any{"url": name, "hashes": []string{"zh:" + d.sum(name)}}
	}
	if len(inMirror) == 0 {
		return nil
	}
	manifest := map[string]any{"version": 1, "metadata": map[string]any{"protocol_versions": []string{"6.0"}}}
	if err := d.write(prefix+"_manifest.json", indented(manifest)); err != nil {
		return err
	}
	if err := d.writeChecksums(prefix+"_SHA256SUMS", func(name string) bool {
		return strings.HasPrefix(name, prefix) && !strings.HasSuffix(name, ".cdx.json")
	}); err != nil {
		return err
	}
	inMirror = append(inMirror,
		entry{mirrorPath + "/index.json", fileMode, indented(map[string]any{
			"versions": map[string]any{r.Number(): map[string]any{}}})},
		entry{mirrorPath + "/" + r.Number() + ".json", fileMode, indented(map[string]any{"archives": mirror})})
	data, err := packTar(inMirror, r.Time) // the archives in it are compressed
	if err != nil {
		return err
	}
	return d.write(prefix+"_mirror.tar", data)
}

// indented encodes maps of texts and numbers.
func indented(v any) []byte {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(data, '\n')
}
