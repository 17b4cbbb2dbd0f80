/**
 * Writes the schemas of the built-in types that Kubernetes publishes, compressed, to core/apiserver/openapi/generated. They are in the Go module of Kubernetes,
 * which the control plane of the tests needs anyway. `node test/support/published-schemas.ts` writes the file again.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { builtinTypeNames } from '../../core/apiserver/builtin/types-table.ts';

type Schemas = Record<string, object>;

const root = join(import.meta.dirname, '../..');
export const publishedSchemasFile = 'core/apiserver/openapi/generated/schemas.json.br';

/** The text before the compression. Throws if the Go module is not on the machine and can't be fetched. */
export function publishedSchemas(): string {
  const [version, directory] = moduleOf('k8s.io/kubernetes');
  const folder = join(directory, 'api/openapi-spec/v3');
  const all: Schemas = {};
  for (const file of readdirSync(folder).sort()) {
    const { components } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
      components?: { schemas?: Schemas };
    };
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
  return `${JSON.stringify({ source: `k8s.io/kubernetes@${version} api/openapi-spec/v3`, license: 'Apache-2.0', schemas })}\n`;
}

function moduleOf(path: string): [version: string, directory: string] {
  const format = '{{.Version}} {{.Dir}}';
  const go = 'go';
  const cwd = join(root, 'test/support/control-plane');
  const out = execFileSync(go, ['list', '-m', '-f', format, path], { cwd, encoding: 'utf8' });
  return out.trim().split(' ') as [string, string];
}

if (import.meta.main) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(join(root, publishedSchemasFile), brotliCompressSync(publishedSchemas(), { params }));
}
