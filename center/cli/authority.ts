/**
 * `banyan authority show|add|use|drop`: changes the authority of nodes while the tree runs. The center's Node object has the bundle that goes down the tree; a folder of
 * keys has what signs. A step can be done again after an interruption.
 */
import type { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { otherAuthority } from '../../core/entries/up-attributes.ts';
import { shownPath } from '../../core/identity/node-path.ts';
import { authorityId } from '../../core/identity/peer-identity.ts';
import { certificatesIn } from '../../core/identity/pem-certificates.ts';
import {
  authoritiesMax,
  type Bundle,
  bundleOf,
  bundlePem,
  readBundle,
} from '../../core/identity/trusted-authorities.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { ShownAuthority } from '../../relay/inventory-status/authority-dependents.ts';
import type { AuthorityFiles } from '../supervisor/authority-files.ts';
import type { NodeApiClient } from './api-client.ts';
import { nodeObject } from './object-paths.ts';
import type { Output } from './output.ts';
import { formatTable } from './table.ts';
import { UsageError } from './usage-error.ts';

type Api = Pick<NodeApiClient, 'contexts' | 'get' | 'write'>;

/** Called with the authorities of the tree from now on, as PEM, and those until now. */
type NewKubeconfig = (pem: string, former: readonly X509Certificate[]) => void;

const context = 'node/center';
const center = nodeObject('');
/** A center that is busy or has just started needs longer than a second. */
const shownWithinMs = 20_000;
const lookEveryMs = 200;

export async function showAuthorities(api: Api): Promise<Output> {
  const { shown } = await read(api);
  const rows = shown.map(({ id, subject = '', notAfter = '', inUse, nodes, sample = [] }) => [
    id,
    inUse ? 'in use' : id === otherAuthority ? '' : 'trusted',
    notAfter,
    String(nodes),
    pathsText(sample, nodes),
    subject,
  ]);
  const text = formatTable(['ID', 'STATE', 'UNTIL', 'NODES', 'OF THEM', 'NAME'], rows);
  return { data: shown, names: shown.map(({ id }) => `authority/${id}`), text, wide: text };
}

/** Makes the next authority, unless an earlier call has done so, and lets all nodes trust it. */
export async function addAuthority(api: Api, files: AuthorityFiles): Promise<string> {
  const { bundle } = await read(api);
  if (!files.next && bundle.authorities.length >= authoritiesMax) {
    const ids = bundle.authorities.map(authorityId).join(', ');
    throw new BanyanError(
      'Conflict',
      `a tree has at most ${authoritiesMax} authorities, and has ${ids}: drop one first`,
    );
  }
  await files.add();
  const next = files.next!;
  const kept = bundle.authorities.filter((one) => authorityId(one) !== authorityId(next));
  await write(api, { authorities: [...kept, next], introductions: files.introductions });
  await untilTrusted(api, authorityId(next));
  return `the center trusts ${shownId(next)} too, and hands it down; its key is in ${files.folder}. Next: ${cliCommand('authority', 'use')}`;
}

/** From now on, the next authority signs: first the certificates of the folder, then, level by level, the nodes renew theirs. */
export async function useAuthority(
  api: Api,
  files: AuthorityFiles,
  warn: (line: string) => void,
  newKubeconfig: NewKubeconfig,
): Promise<string> {
  const { bundle } = await read(api);
  const first = files.next ?? files.authorities[0];
  if (!first) throw new UsageError(`${files.folder} has no ca.crt: name the folder of the authority with --pki`);
  const others = bundle.authorities.filter((one) => authorityId(one) !== authorityId(first));
  if (others.length === bundle.authorities.length) {
    const remedy = `add it first: ${cliCommand('authority', 'add')}`;
    throw new BanyanError(
      'Invalid',
      `the center does not trust ${shownId(first)}, which signs in ${files.folder}: ${remedy}`,
    );
  }
  files.promote();
  const signed = await files.signFolder();
  newKubeconfig(bundlePem(files.authorities), bundle.authorities);
  await write(api, { authorities: [first, ...others], introductions: files.introductions });
  if (!files.has('center.crt'))
    warn(
      `the certificates of the center are not in ${files.folder}: sign them with "authority sign FILE", and put them in place at the center`,
    );
  const drop = cliCommand('authority', 'drop', others[0] ? authorityId(others[0]) : 'ID');
  return `${shownId(first)} signs from now on; ${signed.length} certificates of ${files.folder} are signed again, and all other nodes renew theirs. When "authority show" says that no node depends on the former one: ${drop}`;
}

export interface Drop {
  readonly id: string;
  /** Also while nodes depend on it. */
  readonly force: boolean;
}

/** Ends the trust in an authority. Throws Conflict if nodes still depend on it, and names some of them. */
export async function dropAuthority(
  api: Api,
  files: AuthorityFiles,
  { id, force }: Drop,
  newKubeconfig: NewKubeconfig,
): Promise<string> {
  const { bundle, shown } = await read(api);
  const dropped = shown.find((one) => one.id === id);
  const ids = shown.filter((one) => one.id !== otherAuthority).map((one) => one.id);
  if (!ids.includes(id))
    throw new UsageError(`authority: the center trusts no authority "${id}"; it trusts ${ids.join(', ')}`);
  if (dropped?.inUse) {
    const remedy = `first let another one sign: ${cliCommand('authority', 'use')}`;
    throw new BanyanError(
      'Conflict',
      `the certificate of the center, or one of its issuers, leads to ${id}: ${remedy}`,
    );
  }
  const { nodes = 0, sample = [] } = dropped ?? {};
  if (nodes > 0 && !force) {
    const remedy = `wait until they have renewed their certificates, revoke them, or use --force: they then need new certificates: ${cliCommand('join-token', 'PATH', '--again')} (with --relay for a relay)`;
    throw new BanyanError('Conflict', `${nodes} nodes still depend on ${id}: ${pathsText(sample, nodes)}: ${remedy}`);
  }
  const authorities = bundle.authorities.filter((one) => authorityId(one) !== id);
  await write(api, { authorities, introductions: bundle.introductions });
  files.drop(id);
  if (files.authorities.length > 0) newKubeconfig(bundlePem(files.authorities), bundle.authorities);
  return `${id} is not trusted any more: each node forgets it when the message reaches the node`;
}

/** The center judges the bundle and shows the result within seconds. */
async function untilTrusted(api: Api, id: string): Promise<void> {
  for (const untilMs = performance.now() + shownWithinMs; performance.now() < untilMs; await delay(lookEveryMs)) {
    if ((await read(api)).shown.some((one) => one.id === id)) return;
  }
  const why = 'its log says why; was the former authority of the folder another one than that of the tree?';
  throw new BanyanError(
    'Timeout',
    `the center does not trust the authority ${id} after ${shownWithinMs / 1_000} s: ${why}`,
  );
}

interface Read {
  /** `status.authorities` of the center's Node object. */
  readonly shown: readonly ShownAuthority[];
  /** The authorities that the center trusts, and the introductions that it hands down. */
  readonly bundle: Bundle;
}

async function read(api: Api): Promise<Read> {
  if (!api.contexts().includes(context)) {
    const remedy = 'use a kubeconfig with it, or name the data directory of the tree by --data';
    throw new BanyanError('NotFound', `the kubeconfig has no context ${context}: ${remedy}`);
  }
  const node = await api.get(context, center);
  const { authorities: shown } = (node?.status ?? {}) as { readonly authorities?: readonly ShownAuthority[] };
  if (!shown) {
    const remedy = 'wait a moment after its start; a center of an earlier version has to be upgraded first';
    throw new BanyanError('Unavailable', `the center does not show its authorities: ${remedy}`);
  }
  const { authorities: written } = (node?.spec ?? {}) as { readonly authorities?: string };
  const authorities = shown.flatMap(({ certificate = '' }) => certificatesIn(certificate));
  // The bundle that somebody has written need not be what the center trusts.
  const handed = readBundle(written ?? '');
  return { shown, bundle: { authorities, introductions: 'flaw' in handed ? [] : handed.introductions } };
}

async function write(api: Api, { authorities, introductions }: Bundle): Promise<void> {
  const keys = new Set(authorities.map(authorityId));
  const text = bundleOf({ authorities, introductions: introductions.filter((one) => keys.has(authorityId(one))) });
  const read = readBundle(text);
  if ('flaw' in read) throw new BanyanError('Invalid', read.flaw);
  const answer = await api.write(context, 'PATCH', center, { spec: { authorities: text } });
  if ('refused' in answer) throw new BanyanError(answer.refused.code, answer.refused.message);
}

function shownId(authority: X509Certificate): string {
  return `the authority ${authorityId(authority)}`;
}

function pathsText(sample: readonly string[], nodes: number): string {
  const named = sample.map(shownPath).join(', ');
  return nodes > sample.length && sample.length > 0 ? `${named} and ${nodes - sample.length} more` : named;
}
