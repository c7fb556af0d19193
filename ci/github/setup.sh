#!/usr/bin/env bash
# Installs a version of sluice on a runner, if the archive has the checksum that it must have.
set -euo pipefail

fail() {
  echo "::error::sluice was not installed: $1" >&2
  exit 1
}

version=${SLUICE_VERSION#v}
form='^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$'
[[ $version =~ $form ]] || fail "the input version must be one such as 0.1.0"

case $RUNNER_OS in
Linux) os=linux archive=.tar.gz ;;
macOS) os=darwin archive=.tar.gz ;;
Windows) os=windows archive=.zip ;;
*) fail "there is no archive for this system" ;;
esac
case $RUNNER_ARCH in
X64) arch=amd64 ;;
ARM64) arch=arm64 ;;
*) fail "there is no archive for this architecture" ;;
esac

archive=sluice_${version}_${os}_$arch$archive
from=${SLUICE_RELEASES:-https://github.com/sluice-ecs/sluice/releases/download}/v$version
work=$(mktemp -d "$RUNNER_TEMP/sluice-XXXXXX")
cd "$work"
curl -fsSL --retry 3 -o "$archive" "$from/$archive" || fail "the archive of version $version could not be read"

want=${SLUICE_SHA256:-}
if [[ -z $want ]]; then
  curl -fsSL --retry 3 -o checksums.txt "$from/checksums.txt" || fail "the checksums of version $version could not be read"
  want=$(awk -v name="$archive" '$2 == name { print $1 }' checksums.txt)
fi
if command -v sha256sum >/dev/null; then
  has=$(sha256sum <"$archive")
else
  has=$(shasum -a 256 <"$archive")
fi
[[ -n $want && ${has%% *} == "$want" ]] || fail "the archive does not have the checksum that it must have"

mkdir bin
if [[ $os == windows ]]; then
  unzip -q "$archive" sluice.exe -d bin
else
  tar -xzf "$archive" -C bin sluice
fi
echo "$work/bin" >>"$GITHUB_PATH"
