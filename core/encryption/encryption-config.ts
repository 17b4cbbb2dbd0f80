/** The part `encryption` of a configuration. */
import * as z from 'zod';
import { refusing } from '../runtime/schema-words.ts';

/** A resource, and its group after a point: https://kubernetes.io/docs/reference/using-api/api-concepts/ */
const resourceName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$/;
/** Each resource costs a comparison for each write. */
const resourcesMax = 32;

const resources = z
  .array(
    z.string().regex(resourceName, { error: refusing('write a resource, such as secrets or widgets.example.com') }),
  )
  .max(resourcesMax)
  .default(['secrets'])
  .describe(
    'Resources whose objects are sealed in the store: RESOURCE, or RESOURCE.GROUP. An empty list: nothing is sealed, and sealed values are opened at the start.',
  );
const keyFile = z
  .string()
  .min(1)
  .optional()
  .describe('File with the keys, one a line: 32 bytes in base64. The first key seals, all keys open.');
const keyCommand = z
  .array(z.string().min(1))
  .min(1)
  .optional()
  .describe('Program with its arguments that prints what a key file has. It runs at each start of the node.');

export const encryptionConfigSchema = z
  .strictObject({ resources, keyFile, keyCommand })
  .refine(({ keyFile: file, keyCommand: command }) => (file === undefined) !== (command === undefined), {
    error: 'needs either keyFile or keyCommand: give exactly one of the two',
  });

/** In a topology, a node has a key file of its own in the data directory unless the topology names one. */
export const topologyEncryptionSchema = z
  .strictObject({ resources, keyFile, keyCommand })
  .refine(({ keyFile: file, keyCommand: command }) => file === undefined || command === undefined, {
    error: 'has keyFile and keyCommand: give at most one of the two',
  });

export type EncryptionConfig = z.infer<typeof encryptionConfigSchema>;
export type TopologyEncryption = z.infer<typeof topologyEncryptionSchema>;

/** `widgets.example.com`: the resource before the first point, the group after it. */
export function parseSealedResource(text: string): { readonly group: string; readonly resource: string } {
  const at = text.indexOf('.');
  return at < 0 ? { group: '', resource: text } : { group: text.slice(at + 1), resource: text.slice(0, at) };
}
