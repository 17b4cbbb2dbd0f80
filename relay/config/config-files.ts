/** The files that a node's configuration names, and that have to be there before it starts. Later they may come and go: those that were read stay in use. */
import { readFileSync } from 'node:fs';
import { describeError } from '../../core/runtime/errors.ts';
import type { NodeConfig } from './config.ts';

/** What is wrong with them, each with its field. */
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
    const wrong = file === undefined ? undefined : whyUnreadable(file);
    return wrong === undefined ? [] : [`${field}: ${wrong}`];
  });
}

function whyUnreadable(file: string): string | undefined {
  try {
    readFileSync(file);
    return undefined;
  } catch (error) {
    return describeError(error);
  }
}
