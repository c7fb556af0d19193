package main

import (
	"fmt"
	"strings"
)

// writeHomebrew writes the formula of Homebrew for the platforms that are there.
func (r *Release) writeHomebrew(d *dist) error {
	var b strings.Builder
	fmt.Fprintf(&b, "class Sluice < Formula\n  desc %q\n  homepage %q\n  version %q\n  license \"Apache-2.0\"\n",
		description, repository, r.Number())
	found := false
	for _, system := range []struct{ os, word string }{{"darwin", "macos"}, {"linux", "linux"}} {
		lines := ""
		for _, arch := range []struct{ arch, word string }{{"arm64", "arm"}, {"amd64", "intel"}} {
			name := r.archiveName(Platform{system.os, arch.arch})
			if sum := d.sum(name); sum != "" {
				lines += fmt.Sprintf("    on_%s do\n      url %q\n      sha256 %q\n    end\n", arch.word,
					r.downloadURL(name), sum)
			}
		}
		if lines != "" {
			found = true
			fmt.Fprintf(&b, "\n  on_%s do\n%s  end\n", system.word, lines)
		}
	}
	if !found {
		return nil
	}
	b.WriteString(`
  def install
    bin.install "sluice"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/sluice.bash" => "sluice"
    zsh_completion.install "completions/_sluice"
    fish_completion.install "completions/sluice.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sluice version")
  end
end
`)
	return d.write("sluice.rb", []byte(b.String()))
}

// writeScoop writes the manifest of Scoop, the package manager for Windows, for the platforms that are there.
func (r *Release) writeScoop(d *dist) error {
	architecture, update := map[string]any{}, map[string]any{}
	for _, a := range []struct{ arch, word string }{{"amd64", "64bit"}, {"arm64", "arm64"}} {
		name := r.archiveName(Platform{"windows", a.arch})
		if sum := d.sum(name); sum != "" {
			architecture[a.word] = map[string]any{"url": r.downloadURL(name), "hash": sum}
			update[a.word] = map[string]any{"url": strings.ReplaceAll(r.downloadURL(name), r.Number(), "$version")}
		}
	}
	if len(architecture) == 0 {
		return nil
	}
	return d.write("sluice.json", indented(map[string]any{"version": r.Number(), "description": description,
		"homepage": repository, "license": "Apache-2.0", "architecture": architecture, "bin": "sluice.exe",
		"checkver": "github", "autoupdate": map[string]any{"architecture": update,
			"hash": map[string]any{"url": repository + "/releases/download/v$version/checksums.txt"}}}))
}
