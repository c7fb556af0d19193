package main

import (
	"bytes"
	"net/url"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const repository = "https://github.com/sluice-ecs/sluice"

// billOfMaterials lists the modules of a binary in the form of CycloneDX. It is about the archive that has the checksum
// sum. It has no serial number, which would have to differ each time.
func (r *Release) billOfMaterials(b Binary, archive, sum string) ([]byte, error) {
	modules, err := modulesOf(b)
	if err != nil {
		return nil, err
	}
	bom := cdx.NewBOM()
	main := cdx.Component{BOMRef: packageURL("github.com/sluice-ecs/sluice", r.Version) + "#cmd/" + b.Command,
		Type: cdx.ComponentTypeApplication, Name: b.Command, Version: r.Version,
		PackageURL: packageURL("github.com/sluice-ecs/sluice", r.Version) + "#cmd/" + b.Command,
		Licenses:   licenceChoices([]string{"Apache-2.0"}),
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}},
		ExternalReferences: &[]cdx.ExternalReference{{Type: cdx.ERTypeVCS, URL: repository},
			{Type: cdx.ERTypeDistribution, URL: r.downloadURL(archive)}},
		Properties: &[]cdx.Property{{Name: "sluice:platform", Value: b.Platform.String()},
			{Name: "sluice:commit", Value: r.Commit}}}
	bom.Metadata = &cdx.Metadata{Timestamp: r.Time.Format(time.RFC3339), Component: &main}
	var components []cdx.Component
	var refs []string
	for _, m := range modules {
		l, err := r.licenses.licenceOf(m)
		if err != nil {
			return nil, err
		}
		c := cdx.Component{BOMRef: packageURL(m.Path, m.Version), Type: cdx.ComponentTypeLibrary, Name: m.Path,
			Version: m.Version, PackageURL: packageURL(m.Path, m.Version), Licenses: licenceChoices(l.ids)}
		if m.Sum != "" {
			c.Properties = &[]cdx.Property{{Name: "go:sum", Value: m.Sum}}
		}
		components, refs = append(components, c), append(refs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	err = cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return out.Bytes(), err
}

func licenceChoices(ids []string) *cdx.Licenses {
	var all cdx.Licenses
	for _, id := range ids {
		all = append(all, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	return &all
}

// packageURL names a Go module as the Package URL specification does: in lower case, and with a plus as %2B.
func packageURL(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(url.PathEscape(version), "+", "%2B")
}

// downloadURL is where a file of the release will be.
func (r *Release) downloadURL(name string) string {
	return repository + "/releases/download/" + r.Version + "/" + name
}
