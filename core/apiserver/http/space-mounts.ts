/** The spaces of an API server, by the prefixes of their URLs. */
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { Space } from '../space.ts';
import { SpaceHandler } from './handler.ts';
import { decodePart } from './route.ts';

export class SpaceMounts {
  readonly #clock: Clock;
  readonly #handlers = new Map<string, SpaceHandler>();
  readonly #resolvers: ((prefix: string) => Space | undefined)[] = [];
  /** The handlers of spaces that resolvers have returned. An entry exists as long as its resolver keeps the space. */
  readonly #resolved = new WeakMap<Space, SpaceHandler>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Serves a space at a URL prefix. `''` is the system space. Other prefixes are, for example, `/spaces/NAME`. */
  mount(prefix: string, space: Space): void {
    this.#handlers.set(prefix, new SpaceHandler(space, prefix, this.#clock));
  }

  /** Adds a resolver for spaces that are created and deleted while the server runs. It is called for each request. */
  resolveWith(resolver: (prefix: string) => Space | undefined): void {
    this.#resolvers.push(resolver);
  }

  /** The handler of the space, and the rest of the path after the prefix of the space. Throws NotFound. */
  find(pathname: string): { handler: SpaceHandler; path: string } {
    const match = /^\/(?:spaces|mailboxes|reported)\/[^/]+/.exec(pathname);
    const prefix = match ? decodePart(match[0]) : '';
    const handler = this.#handlers.get(prefix) ?? this.#resolve(prefix);
    if (!handler) throw new BanyanError('NotFound', `there is nothing at ${prefix || pathname}`);
    return { handler, path: match ? pathname.slice(match[0].length) : pathname };
  }

  #resolve(prefix: string): SpaceHandler | undefined {
    const space = this.#resolvers.map((resolve) => resolve(prefix)).find((found) => found !== undefined);
    if (!space) return undefined;
    const known = this.#resolved.get(space);
    if (known) return known;
    const handler = new SpaceHandler(space, prefix, this.#clock);
    this.#resolved.set(space, handler);
    return handler;
  }
}
