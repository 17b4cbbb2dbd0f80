/**
 * The schemas of the built-in types as Kubernetes publishes them, with descriptions, enums and formats, for `kubectl explain`.
 * test/support/published-schemas.ts makes the file, which names its source and licence. The file is read when a client asks, and the memory is given back.
 */
import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';

type Schemas = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

let kept: WeakRef<Schemas> | undefined;

/** The schemas, keyed by the names of types. Reading them takes some 20 ms, and 3 MB until the next collection of garbage. */
export function publishedSchemas(): Schemas {
  const present = kept?.deref();
  if (present) return present;
  const file = new URL('./generated/schemas.json.br', import.meta.url);
  const { schemas } = JSON.parse(brotliDecompressSync(readFileSync(file)).toString('utf8')) as { schemas: Schemas };
  kept = new WeakRef(schemas);
  return schemas;
}
