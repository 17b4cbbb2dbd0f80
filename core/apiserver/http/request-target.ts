/** The target of a request line. */
import { BanyanError } from '../../runtime/errors.ts';

/** Parses the target of a request line. A target such as "//host" is treated as a path, not as a host. Throws BadRequest. */
export function urlOf(target: string): URL {
  if (target.startsWith('/')) return new URL(`https://node${target}`);
  throw new BanyanError(
    'BadRequest',
    `the server has nothing at ${JSON.stringify(target)}: a URL's path begins with "/"`,
  );
}

/**
 * The target by which the server authorizes a request and passes it on. Without dot segments: otherwise the server could authorize another target than the one
 * that the next node serves.
 */
export function pathAndQuery({ pathname, search }: URL): string {
  return `${pathname}${search}`;
}
