/**
 * URLs of a node's API that lead to another node of the tree. `/tree/PATH/...` is the same URL at the node PATH. `/tree/PATH/cluster/...` is the API server of
 * the edge cluster of the agent PATH. `/tree/PATH/healthz` and `/tree/PATH/echo?bytes=N` show whether and how this node reaches the node PATH. The PATH of the
 * center is `center`.
 */
import type { TreeUrls } from '../../core/apiserver/http/node-urls.ts';
import { type ApiRequest, integerOf, jsonResponse } from '../../core/apiserver/http/requests.ts';
import { decodePart } from '../../core/apiserver/http/route.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { echoBytesMax } from '../../core/stream/echo.ts';
import { apiKind, askOver, clusterKind } from '../../core/stream/http.ts';
import { ping } from '../../core/stream/ping.ts';
import type { StreamRouter } from '../../core/stream/router.ts';

/** Limit for the time of a request to another node: as long as a person waits. */
const timeoutSecondsDefault = 5;
const timeoutSecondsMax = 300;

export function treeUrls(ownPath: string, router: StreamRouter, clock: Clock): TreeUrls {
  return {
    way(target, user) {
      const { path, rest, query } = parse(target);
      if (rest === '/healthz' || rest === '/echo') return undefined;
      const cluster = /^\/cluster(\/.*)?$/.exec(rest);
      const kind = cluster ? clusterKind : apiKind;
      const there = cluster ? (cluster[1] ?? '/') : rest;
      return { target: `${there}${query}`, ask: askOver(router, ownPath, { path, kind, user }) };
    },
    async answer(request) {
      if (request.method !== 'GET') {
        throw new BanyanError('MethodNotAllowed', `the server does not allow ${request.method} here`);
      }
      const { path, rest } = parse(request.path);
      const { name: user, groups } = request.user;
      const bytes = rest === '/echo' ? parameter(request, 'bytes', undefined, echoBytesMax) : 0;
      const timeoutMs = 1000 * parameter(request, 'timeoutSeconds', timeoutSecondsDefault, timeoutSecondsMax);
      return jsonResponse(200, await ping({ router, clock, at: ownPath }, { path, user, groups, timeoutMs, bytes }));
    },
  };
}

function parse(target: string): { path: string; rest: string; query: string } {
  const [, path = '', rest = '', query = ''] = /^\/tree\/([^/?]*)(\/[^?]*)?(\?.*)?$/.exec(target) ?? [];
  if (path === '')
    throw new BanyanError('NotFound', `there is nothing at ${target}: write the path of a node after /tree/`);
  const named = decodePart(path);
  return { path: named === 'center' ? '' : named, rest: rest === '' ? '/' : rest, query };
}

function parameter({ query }: ApiRequest, name: string, absent: number | undefined, max: number): number {
  const value = query.has(name) || absent === undefined ? integerOf(query, name) : absent;
  if (value >= 1 && value <= max) return value;
  throw new BanyanError('BadRequest', `${name}: Invalid value: ${value}: must be 1 to ${max}`);
}
