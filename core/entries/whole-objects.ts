/** Whole objects that agents report, what was born at the edge and what placed objects own there, checked when they come. */
import * as z from 'zod';
import { decodeChecked } from '../object/checked.ts';
import { parseApiVersion } from '../object/meta.ts';
import { BanyanError } from '../runtime/errors.ts';
import { asText } from '../store/bytes.ts';
import type { CheckedEntry } from './entry-kind.ts';

/** As canonical.ts makes them: views splice into this and don't parse. */
const canonicalStart = '{"metadata":{';

const body = z.object({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.object({ name: z.string(), namespace: z.string().optional() }),
});

/** The body is the object that its key names. Throws Protocol. */
export function checkWholeObject({ key: entryKey, object, body: bytes }: CheckedEntry): void {
  if (!object) throw new BanyanError('Protocol', `the key ${entryKey} names no object`);
  const { apiVersion, metadata } = decodeChecked(`the object of ${entryKey}`, body, bytes);
  const { group } = parseApiVersion(apiVersion);
  const names = group === object.group && metadata.name === object.name;
  if (!names || (metadata.namespace ?? '') !== object.namespace) {
    throw new BanyanError('Protocol', `the object of ${entryKey} is another one: ${apiVersion} ${metadata.name}`);
  }
  if (asText(bytes.subarray(0, canonicalStart.length)) !== canonicalStart) {
    throw new BanyanError('Protocol', `the object of ${entryKey} is not in canonical form: metadata comes first`);
  }
}
