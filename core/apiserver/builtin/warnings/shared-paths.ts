/** Paths in one volume that are the same, or of which one lies inside the other: a container then sees only one of them. */
import { recordsIn, type Values } from '../../../object/pod-template.ts';
import { wordOf } from '../validation/visit.ts';
import { valuesIn, type Warnings } from './warning.ts';

interface PlacedPath {
  readonly path: string;
  /** What the volume puts there. Empty: the volume has one source. */
  readonly source: string;
}

/** Each path is compared with as many earlier ones. A volume of 1.5 MB could have 100,000 paths, and nobody reads so many warnings. */
const comparedMax = 100;

export function* sharedPathWarnings(volume: Values): Warnings {
  const name = JSON.stringify(wordOf(volume.name));
  const { configMap, secret, downwardAPI, projected } = volume;
  const single: readonly (readonly [source: unknown, shown: string])[] = [
    [configMap, `ConfigMap ${JSON.stringify(wordOf(valuesIn(configMap).name))}`],
    [secret, `Secret ${JSON.stringify(wordOf(valuesIn(secret).secretName))}`],
    [downwardAPI, 'DownwardAPI'],
  ];
  for (const [source, shown] of single) {
    for (const both of sharedPaths([], itemPaths(source, '')))
      yield `volume ${name} (${shown}): overlapping paths: ${both}`;
  }
  const earlier: PlacedPath[] = [];
  for (const source of recordsIn(valuesIn(projected), 'sources')) {
    if (Object.keys(source).length === 0) yield `volume ${name} (Projected) has no sources provided`;
    for (const both of sharedPaths(earlier, projectedPaths(source))) {
      yield `volume ${name} (Projected): overlapping paths: ${both}`;
    }
  }
}

function itemPaths(source: unknown, shown: string): PlacedPath[] {
  return recordsIn(valuesIn(source), 'items').map(({ path }) => ({ path: wordOf(path), source: shown }));
}

function projectedPaths(source: Values): PlacedPath[] {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source;
  const quoted = (value: unknown) => JSON.stringify(wordOf(value));
  const put = (path: unknown, shown: string) => [{ path: wordOf(path), source: shown }];
  const bundle = valuesIn(clusterTrustBundle);
  const certificate = valuesIn(podCertificate);
  if (configMap) return itemPaths(configMap, `ConfigMap ${quoted(valuesIn(configMap).name)}`);
  if (secret) return itemPaths(secret, `Secret ${quoted(valuesIn(secret).name)}`);
  if (downwardAPI) return itemPaths(downwardAPI, 'DownwardAPI');
  if (serviceAccountToken) return put(valuesIn(serviceAccountToken).path, 'ServiceAccountToken');
  if (clusterTrustBundle) return put(bundle.path, `ClusterTrustBundle ${quoted(bundle.name ?? bundle.signerName)}`);
  return [
    ...put(certificate.certificateChainPath, 'PodCertificate chain'),
    ...put(certificate.keyPath, 'PodCertificate key'),
    ...put(certificate.credentialBundlePath, 'PodCertificate credential bundle'),
  ];
}

/** Adds the paths to the earlier ones. */
function* sharedPaths(earlier: PlacedPath[], paths: readonly PlacedPath[]): Warnings {
  for (const { path: given, source } of paths) {
    const path = given.replace(/(?<!\/)\/+$/, '');
    if (path === '') continue;
    const placed = { path, source };
    for (const other of earlier) {
      if (isInside(path, other.path) || isInside(other.path, path)) yield `${shown(placed)} with ${shown(other)}`;
    }
    if (earlier.length < comparedMax) earlier.push(placed);
  }
}

function isInside(inner: string, outer: string): boolean {
  return inner.startsWith(outer) && (inner.length === outer.length || inner[outer.length] === '/');
}

function shown({ path, source }: PlacedPath): string {
  return source === '' ? JSON.stringify(path) : `${JSON.stringify(path)} (${source})`;
}
