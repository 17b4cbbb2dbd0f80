/**
 * The authorities of nodes that a node trusts: those of its files, until its parent hands others down; then those. They are kept in a file of the data directory, so
 * that a node knows them at its start, before it reaches its parent.
 *
 * A person has the last word at a node: when the file of authorities that the configuration names changes, its content counts, until the parent hands down another
 * bundle.
 */
import { createHash, type X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { AuthoritiesAttributes } from '../entries/down-attributes.ts';
import { authorityId, type PeerIdentity } from '../identity/peer-identity.ts';
import { authoritiesIn } from '../identity/pem-certificates.ts';
import {
  authoritiesMax,
  authorityOfChain,
  bundleOf,
  bundlePem,
  judgeBundle,
  readBundle,
} from '../identity/trusted-authorities.ts';
import { BanyanError, describeError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import { writeWhole } from '../runtime/whole-file.ts';
import { currentOf, type NodeCredentials } from './node-credentials.ts';

export interface TreeTrustPorts {
  /** The credentials from the files of the node. */
  readonly given: NodeCredentials;
  /** The data directory of the node. */
  readonly data: string;
  readonly log: Logger;
}

/** The report of a node about its authorities, by their ids. */
export interface ReportedTrust {
  /** The authority to which the node's own certificate leads. */
  readonly authority: string;
  readonly trusts: readonly string[];
}

const keptSchema = z.strictObject({
  /** The hash of the authorities in the node's files when the bundle came. */
  given: z.string(),
  bundle: z.string(),
  /** PEM: the authorities that the node has trusted since then. */
  trusted: z.string(),
});
type Kept = z.infer<typeof keptSchema>;

/** The credentials, and those parts from which they were made. */
interface Present {
  readonly from: NodeCredentials;
  readonly kept: Kept | undefined;
  readonly credentials: NodeCredentials;
}

/** The file of the data directory with what was handed down. */
const fileName = 'authorities.json';

export class TreeTrust {
  readonly #ports: TreeTrustPorts;
  readonly #file: string;
  #kept: Kept | undefined;
  /** The authority with which the parent signs now. */
  #signsWith: string | undefined;
  #present: Present;
  readonly #listeners: (() => void)[] = [];

  constructor(ports: TreeTrustPorts) {
    this.#ports = ports;
    this.#file = join(ports.data, fileName);
    this.#kept = readKept(this.#file);
    this.#present = this.#made(currentOf(ports.given));
  }

  /** The node's credentials, with the authorities that the node trusts now. */
  get credentials(): NodeCredentials {
    const from = currentOf(this.#ports.given);
    if (this.#present.from !== from || this.#present.kept !== this.#kept) this.#present = this.#made(from);
    return this.#present.credentials;
  }

  get trusted(): readonly X509Certificate[] {
    return authoritiesIn(this.credentials.caPem);
  }

  /** Calls `changed` after each change of the authorities, and when the parent signs with another one. */
  onChange(changed: () => void): void {
    this.#listeners.push(changed);
  }

  /**
   * Handles what the parent has handed down; at the center, what a person has written. Trusts only authorities that an authority introduces which the node trusts
   * already. If it trusts none of the bundle, nothing changes.
   */
  receive({ bundle, signsWith }: AuthoritiesAttributes): void {
    const isNew = this.#kept?.bundle !== bundle;
    if (!isNew && signsWith === this.#signsWith) return;
    this.#signsWith = signsWith;
    if (isNew) this.#take(bundle);
    for (const changed of this.#listeners) changed();
  }

  #take(bundle: string): void {
    const { log, given } = this.#ports;
    const before = this.trusted;
    const { authorities, refused } = judgeBundle(before, bundle);
    for (const reason of refused) log.error({ reason }, 'an authority that was handed down is not trusted');
    const trusted = authorities.length > 0 ? authorities : before;
    const kept = { given: hashOf(currentOf(given).caPem), bundle, trusted: bundlePem(trusted) };
    try {
      writeWhole(this.#file, JSON.stringify(kept));
    } catch (error) {
      // The next start receives the bundle again.
      log.error({ reason: describeError(error) }, 'the authorities that were handed down are not kept');
    }
    this.#kept = kept;
    log.info({ trusts: trusted.map(authorityId) }, 'the authorities of nodes that are trusted from now on');
  }

  /** The authorities that the node hands down. `signing`: the chains of the issuers with which it signs, as PEM. Undefined: no bundle has come from above. */
  handedDown(signing: readonly string[]): AuthoritiesAttributes | undefined {
    const read = this.#kept && readBundle(this.#kept.bundle);
    if (!read) return undefined;
    const { trusted } = this;
    const bundle = bundleOf({ authorities: trusted, introductions: 'flaw' in read ? [] : read.introductions });
    // If the issuers do not agree yet, no child renews its certificate early.
    const [signsWith, ...others] = new Set(signing.map((chain) => authorityOfChain(chain, trusted)));
    return signsWith === undefined || others.length > 0 ? { bundle } : { bundle, signsWith };
  }

  /** PEM: the trusted authorities, with the introductions that have been handed down. */
  bundle(): string {
    return this.handedDown([])?.bundle ?? this.credentials.caPem.toString();
  }

  /** Whether the parent would sign this certificate with another authority now. `certPem`: the certificate and those above. */
  isOutdated(certPem: string): boolean {
    return this.#signsWith !== undefined && authorityOfChain(certPem, this.trusted) !== this.#signsWith;
  }

  /** Whether this node would have no valid certificate any more if it trusted only the authorities of the bundle. */
  wouldEndOwn(bundle: string): boolean {
    const { authorities } = judgeBundle(this.trusted, bundle);
    return authorities.length > 0 && authorityOfChain(this.credentials.certPem, authorities) === undefined;
  }

  /** Why the certificate of a peer, which was good when its session began, does not count any more. */
  whyUntrusted({ path, certificate }: PeerIdentity): string | undefined {
    const { authority } = certificate ?? {};
    if (authority === undefined || this.trusted.some((one) => authorityId(one) === authority)) return undefined;
    return `the certificate of "${path}" was signed under the authority ${authority}, which is not trusted any more`;
  }

  report(): ReportedTrust | undefined {
    const authority = authorityOfChain(this.credentials.certPem, this.trusted);
    if (authority === undefined) return undefined;
    // The files of a node may name any number of authorities.
    return { authority, trusts: this.trusted.map(authorityId).slice(0, authoritiesMax) };
  }

  #made(from: NodeCredentials): Present {
    const kept = this.#kept;
    const counts = kept !== undefined && kept.given === hashOf(from.caPem);
    const caPem = counts ? Buffer.from(kept.trusted) : from.caPem;
    return { from, kept, credentials: { ...from, caPem, renewed: () => this.credentials } };
  }
}

function hashOf(pem: Buffer): string {
  return createHash('sha256').update(pem).digest('hex');
}

/** Throws BadRequest if the file is damaged: without it, the node would go back to authorities that were dropped. */
function readKept(file: string): Kept | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return keptSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    const remedy = 'restore it, or remove it: the node then trusts the authorities of its files again';
    const message = `${file}: the authorities that were handed down can't be read (${describeError(cause)}): ${remedy}`;
    throw new BanyanError('BadRequest', message, {}, { cause });
  }
}
