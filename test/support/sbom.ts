/**
 * `npm run sbom [-- --out FILE]`: the bill of materials of the image, as SPDX 2.3 in JSON: the packages of the lock file that ship, Node, and the system
 * libraries, each with its digest. `npm sbom` is not used, because it leaves out packages that ship and that a development tool needs too.
 */
import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { filesFor } from '../../deploy/image/architecture-files.ts';
import { runtime } from '../../deploy/image/runtime.ts';
import { type LockFile, type ShippedPackage, shippedPackages } from './lock-file.ts';

/** https://spdx.github.io/spdx-spec/v2.3/package-information/ */
interface SpdxPackage {
  readonly name: string;
  readonly SPDXID: string;
  readonly versionInfo: string;
  readonly checksums?: readonly { algorithm: 'SHA256' | 'SHA512'; checksumValue: string }[];
}

const root = join(import.meta.dirname, '../..');
const document = 'SPDXRef-DOCUMENT';
const out = outOf();
const text = `${JSON.stringify(bill(), null, 2)}\n`;
if (out === undefined) process.stdout.write(text);
else writeFileSync(out, text);

function bill(): object {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as LockFile;
  const { name = '', version = '' } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    string,
    string
  >;
  const own = packageOf({ name, version, license: 'Apache-2.0', locator: `pkg:npm/${name}@${version}` });
  const contained = [...shippedPackages(lock).map(npmPackage), nodePackage(), ...libraryPackages()];
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: document,
    name: `${name}-${version}`,
    documentNamespace: `https://spdx.org/spdxdocs/${name}-${version}-${randomUUID()}`,
    // SPDX takes no fractions of seconds.
    creationInfo: { created: new Date().toISOString().replace(/\.\d+Z$/, 'Z'), creators: [`Tool: ${name}-${version}`] },
    packages: [own, ...contained],
    relationships: [
      { spdxElementId: document, relatedSpdxElement: own.SPDXID, relationshipType: 'DESCRIBES' },
      ...contained.map(({ SPDXID }) => ({
        spdxElementId: own.SPDXID,
        relatedSpdxElement: SPDXID,
        relationshipType: 'CONTAINS',
      })),
    ],
  };
}

function npmPackage({ name, version, license, integrity }: ShippedPackage): SpdxPackage {
  const sha512 = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
  return packageOf({ name, version, license, sha512, locator: `pkg:npm/${name.replace('@', '%40')}@${version}` });
}

function nodePackage(): SpdxPackage {
  const { version, sha256 } = runtime;
  const locator = `pkg:generic/node@${version}?arch=${process.arch}`;
  return packageOf({ name: 'node', version, license: 'MIT', sha256: sha256[process.arch] ?? '', locator });
}

/** The libraries come from this machine's Debian packages. On another system they are listed without a version. */
function libraryPackages(): SpdxPackage[] {
  return [...filesFor(process.arch).libraries().values()].sort().map((file) => {
    const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
    const debian = debianPackageOf(file);
    const locator = debian && `pkg:deb/debian/${debian.name}@${debian.version}`;
    return packageOf({ name: basename(file), version: debian?.version ?? 'NOASSERTION', sha256, locator });
  });
}

function debianPackageOf(file: string): { name: string; version: string } | undefined {
  for (const path of [file, `/usr${file}`, file.replace(/^\/usr/, '')]) {
    try {
      const name = dpkgQuery('--search', path).split(':')[0]!;
      return { name, version: dpkgQuery('--show', name).split(/\s/)[1] ?? '' };
    } catch {
      // Another spelling of the path may be known.
    }
  }
  return undefined;
}

function dpkgQuery(...args: string[]): string {
  return execFileSync('dpkg-query', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

interface Described {
  readonly name: string;
  readonly version: string;
  /** Empty or absent: unknown. */
  readonly license?: string;
  readonly sha256?: string;
  readonly sha512?: string;
  /** A package URL: https://github.com/package-url/purl-spec */
  readonly locator?: string | undefined;
}

function packageOf({
  name,
  version,
  license,
  sha256,
  sha512,
  locator,
}: Described): SpdxPackage & Record<string, unknown> {
  const reference = { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: locator };
  const checksum = sha256 ? ({ algorithm: 'SHA256', checksumValue: sha256 } as const) : undefined;
  const archive = sha512 ? ({ algorithm: 'SHA512', checksumValue: sha512 } as const) : undefined;
  const digest = checksum ?? archive;
  return {
    name,
    SPDXID: `SPDXRef-Package-${`${name}-${version}`.replaceAll(/[^A-Za-z0-9.-]/g, '-')}`,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseDeclared: license || 'NOASSERTION',
    ...(digest ? { checksums: [digest] } : {}),
    ...(locator === undefined ? {} : { externalRefs: [reference] }),
  };
}

function outOf(): string | undefined {
  try {
    return parseArgs({ options: { out: { type: 'string' } } }).values.out;
  } catch (error) {
    console.error(`${(error as Error).message}\nusage: npm run sbom [-- --out FILE]`);
    process.exit(2);
  }
}
