/**
 * The files that a node's configuration names. They must be readable when the node starts. Later they may change or be absent: the node goes on with
 * the contents that it has read.
 */
import { readBytes } from '../../core/runtime/config-file.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { NodeConfig } from './config.ts';

/** Returns the problems of the files: one line for each problem, with its field. */
export function unreadableFiles({ pki, link }: NodeConfig): string[] {
  const files: Readonly<Record<string, string | undefined>> = {
    'pki.ca': pki.ca,
    'pki.cert': pki.cert,
    'pki.key': pki.key,
    'pki.issuer.cert': pki.issuer?.cert,
    'pki.issuer.key': pki.issuer?.key,
    'link.ca': link.ca,
  };
  return Object.entries(files).flatMap(([field, file]) => {
    try {
      if (file !== undefined) readBytes(file);
      return [];
    } catch (error) {
      return [`${field}: ${describeError(error)}`];
    }
  });
}
