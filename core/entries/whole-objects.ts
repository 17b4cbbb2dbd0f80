/** Checks whole objects that agents report: objects that were created at the edge, and objects that placed objects own there. */
import * as z from 'zod';
import { decodeChecked } from '../object/checked.ts';
import { parseApiVersion } from '../object/meta.ts';
import { BanyanError } from '../runtime/errors.ts';
import { asText } from '../store/bytes.ts';
import type { CheckedEntry } from './entry-kind.ts';

/** The beginning of every object that canonical.ts encodes. Views insert text directly after this beginning, without parsing the object. */
const canonicalStart = '{"metadata":{';

const body = z.object({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.object({ name: z.string(), namespace: z.string().optional() }),
});

/** Checks that the body is the object that the key names. Throws Protocol. */
export function checkWholeObject({ key: entryKey, object, body: bytes }: CheckedEntry): void {
  if (!object) throw new BanyanError('Protocol', `the key ${entryKey} names no object`);
  const { apiVersion, metadata } = decodeChecked(`the object of ${entryKey}`, body, bytes);
  const { group } = parseApiVersion(apiVersion);
  const isNamed = group === object.group && metadata.name === object.name;
  if (!isNamed || (metadata.namespace ?? '') !== object.namespace) {
    throw new BanyanError(
      'Protocol',
      `the object of ${entryKey} is not the object that the key names: ${apiVersion} ${metadata.name}`,
    );
  }
  if (asText(bytes.subarray(0, canonicalStart.length)) !== canonicalStart) {
    throw new BanyanError('Protocol', `the object of ${entryKey} is not in canonical form: metadata comes first`);
  }
}
