/** The space of a request to `/fleet/SPACE/...`: its source, its documents, and the error of a write. */

import { SpaceHandler } from '../../core/apiserver/http/handler.ts';
import type { ApiRequest } from '../../core/apiserver/http/requests.ts';
import { decodePart } from '../../core/apiserver/http/route.ts';
import type { Kinds } from '../../core/apiserver/space.ts';
import { ViewStorage } from '../../core/apiserver/storage/view.ts';
import { pathShownAs, shownPath } from '../../core/identity/node-path.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { readOnlySpace } from '../views/read-only-space.ts';

/** A request to the fleet of a source. */
export interface FleetRequest {
  readonly source: string;
  readonly prefix: string;
  /** The path of the request is the rest after the prefix. */
  readonly request: ApiRequest;
  readonly signal: AbortSignal;
}

export interface FleetSpacePorts {
  /** The path of this node. */
  readonly path: string;
  /** The source of a space with placements, by its name in a URL. Throws NotFound if there is no such space at this node or above. */
  sourceOf(name: string): string;
}

/** Throws NotFound if the URL names no space that this node knows. */
export function fleetRequest(ports: FleetSpacePorts, request: ApiRequest, signal: AbortSignal): FleetRequest {
  const match = /^\/fleet\/([^/]+)/.exec(request.path);
  const name = decodePart(match?.[1] ?? '');
  const source = ports.sourceOf(name);
  const prefix = `/fleet/${name}`;
  return { source, prefix, request: { ...request, path: request.path.slice(match?.[0].length ?? 0) }, signal };
}

/** The error of a write. */
export function readOnly({ source, prefix }: FleetRequest): BanyanError {
  const dot = source.lastIndexOf('.');
  const context = `space/${shownPath(pathShownAs(source.slice(0, dot).replaceAll('.', ':')))}/${source.slice(dot + 1)}`;
  const message = `${prefix} is read-only: it shows the copies at the clusters; write to the space that they come from (context ${context})`;
  return new BanyanError('MethodNotAllowed', message);
}

/** Serves discovery and OpenAPI documents: those of a read-only space with these kinds. */
export function documentsOf(
  kinds: Kinds,
  prefix: string,
  ports: { clock: Clock; random: Random; log: Logger },
): SpaceHandler {
  const { clock, log } = ports;
  const storage = new ViewStorage({ list: () => [], get: () => undefined }, clock, log);
  const space = readOnlySpace(ports, { name: prefix, storage, kinds });
  return new SpaceHandler(space, prefix, clock);
}
