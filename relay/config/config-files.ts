/**
 * The files that a node's configuration names. They must be readable when the node starts. Later they may change or be absent: the node goes on with
 * the contents that it has read.
 */
import { auditPolicyOf } from '../../core/audit/open-audit.ts';
import { readBytes } from '../../core/runtime/config-file.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { NodeConfig } from './config.ts';

/** Returns the problems of the files: one line for each problem, with its field. */
export function unreadableFiles({ pki, link, audit }: NodeConfig): string[] {
  const files: Readonly<Record<string, string | undefined>> = {
    'pki.ca': pki.ca,
    'pki.cert': pki.cert,
    'pki.key': pki.key,
    'pki.issuer.cert': pki.issuer?.cert,
    'pki.issuer.key': pki.issuer?.key,
    'link.ca': link.ca,
    'audit.policyFile': audit?.policyFile,
  };
  return Object.entries(files).flatMap(([field, file]) => {
    try {
      if (file !== undefined && field === 'audit.policyFile') auditPolicyOf({ policyFile: file });
      else if (file !== undefined) readBytes(file);
      return [];
    } catch (error) {
      return [`${field}: ${describeError(error)}`];
    }
  });
}
