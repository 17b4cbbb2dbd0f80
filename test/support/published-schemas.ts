/**
 * Writes the schemas of the built-in types that a Kubernetes API server publishes, compressed, to core/apiserver/openapi/generated. A real control plane tells
 * them, because the files in the sources of Kubernetes lack the enums. `node_modules/.bin/node test/support/published-schemas.ts` writes the file again.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { builtinTypeNames } from '../../core/apiserver/builtin/types-table.ts';
import { ControlPlane } from './control-plane/control-plane.ts';

type Schemas = Record<string, object>;

const root = join(import.meta.dirname, '../..');
export const publishedSchemasFile = 'core/apiserver/openapi/generated/schemas.json.br';

/** The text before the compression. */
export async function publishedSchemas(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-schemas-'));
  try {
    await using plane = await ControlPlane.start({ directory });
    const raw = (path: string) => {
      const args = ['--kubeconfig', plane.kubeconfig, 'get', '--raw', path];
      return JSON.parse(execFileSync(plane.kubectl, args, { encoding: 'utf8', maxBuffer: 1 << 26 })) as unknown;
    };
    return selected(raw);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function selected(raw: (path: string) => unknown): string {
  const all: Schemas = {};
  const { gitVersion } = raw('/version') as { gitVersion: string };
  const { paths } = raw('/openapi/v3') as { paths: Record<string, unknown> };
  for (const path of Object.keys(paths).sort()) {
    const { components } = raw(`/openapi/v3/${path}`) as { components?: { schemas?: Schemas } };
    for (const [name, schema] of Object.entries(components?.schemas ?? {})) all[name] ??= schema;
  }
  const schemas: Schemas = {};
  const add = (name: string): void => {
    const schema = all[name];
    if (!schema || schemas[name]) return;
    schemas[name] = schema;
    for (const [, other] of JSON.stringify(schema).matchAll(/#\/components\/schemas\/([^"]+)"/g)) add(other!);
  };
  for (const name of builtinTypeNames()) add(name);
  const source = `/openapi/v3 of kube-apiserver from k8s.io/kubernetes@${gitVersion}`;
  return `${JSON.stringify({ source, license: 'Apache-2.0', schemas })}\n`;
}

if (import.meta.main) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(join(root, publishedSchemasFile), brotliCompressSync(await publishedSchemas(), { params }));
}
