/** `banyan ping PATH`: lets one node ask another node through the tree. */
import { shownPath } from '../../core/identity/node-path.ts';
import type { Pinged } from '../../core/stream/ping.ts';
import type { NodeApiClient } from './api-client.ts';

export interface PingOptions {
  readonly path: string;
  readonly bytes: number;
  /** Path of the node that asks. */
  readonly from: string;
  readonly timeoutSeconds: number;
}

/** Extra time, so that the node's own error message arrives before this command stops waiting. */
const graceMs = 2_000;

export async function pingLine(
  api: Pick<NodeApiClient, 'ask'>,
  { path, bytes, from, timeoutSeconds }: PingOptions,
): Promise<string> {
  const seconds = Math.max(1, Math.round(timeoutSeconds));
  const endpoint = bytes > 0 ? `echo?bytes=${bytes}&` : 'healthz?';
  const url = `/tree/${encodeURIComponent(shownPath(path))}/${endpoint}timeoutSeconds=${seconds}`;
  const answer = await api.ask<Pinged>(`node/${shownPath(from)}`, url, seconds * 1000 + graceMs);
  const { role, version, ready, notReady, roundTripMs, echo } = answer;
  const state = ready ? 'ready' : notReady ? `not ready (${notReady})` : 'not ready';
  const line = `${shownPath(path)}: ${role} ${version}, ${state}, ${roundTripMs.toFixed(1)} ms`;
  if (!echo) return line;
  const rate = (2 * echo.bytes) / 1e6 / (echo.ms / 1000);
  return `${line}\n${echo.bytes} bytes there and back, the same, in ${echo.ms.toFixed(0)} ms (${rate.toFixed(1)} MB/s both ways together)`;
}
