#!/usr/bin/env bash
# Rebuild src/greta/studio/static/vendor from the versions in package.json. Needs npm; run by hand, not by make.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
target="$here/../../src/greta/studio/static/vendor"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp "$here"/package.json "$here"/*.js "$work"
cd "$work"
npm install --no-audit --no-fund --no-package-lock
for part in codemirror preact; do
  npx esbuild "$part.js" --bundle --format=esm --minify --legal-comments=none --target=es2022 \
    --banner:js="/* Bundled from the packages named in LICENSES.txt beside this file. */" --outfile="$target/$part.js"
done
cp node_modules/uplot/dist/uPlot.esm.js "$target/uplot.js"
cp node_modules/uplot/dist/uPlot.min.css "$target/uplot.css"
{
  echo "Licences of the packages bundled in codemirror.js, preact.js, uplot.js and uplot.css."
  for package in @codemirror/{autocomplete,commands,language,lint,state,streamparser,view} @lezer/{common,highlight,lr} \
    @marijn/find-cluster-break crelt style-mod w3c-keyname htm preact uplot; do
    version="$(node -p "require('./node_modules/$package/package.json').version")"
    printf '\n==== %s %s ====\n\n' "$package" "$version"
    cat "node_modules/$package/LICENSE"
  done
} >"$target/LICENSES.txt"
