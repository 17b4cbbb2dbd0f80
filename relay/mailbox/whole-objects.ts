/** Whole objects that agents report, what was born at the edge and what placed objects own there, checked when they come. */
import * as z from 'zod';
import type { Content } from '../../core/feed/feed.ts';
import { decodeChecked } from '../../core/object/checked.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { parseApiVersion } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { asText } from '../../core/store/bytes.ts';

/** As canonical.ts makes them: views splice into this and don't parse. */
const canonicalStart = '{"metadata":{';

const body = z.object({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.object({ name: z.string(), namespace: z.string().optional() }),
});

/** The body is the object that its key names. Throws Protocol. */
export function checkWholeObject(entryKey: string, object: ObjectKey, content: Content): void {
  const { apiVersion, metadata } = decodeChecked(`the object of ${entryKey}`, body, content.body);
  const { group } = parseApiVersion(apiVersion);
  const names = group === object.group && metadata.name === object.name;
  if (!names || (metadata.namespace ?? '') !== object.namespace) {
    throw new BanyanError('Protocol', `the object of ${entryKey} is another one: ${apiVersion} ${metadata.name}`);
  }
  if (asText(content.body.subarray(0, canonicalStart.length)) !== canonicalStart) {
    throw new BanyanError('Protocol', `the object of ${entryKey} is not in canonical form: metadata comes first`);
  }
}
