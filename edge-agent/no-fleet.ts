/** The answer of an agent to `/fleet/...`: it names the places that do show the objects. */
import type { NodeUrls } from '../core/apiserver/http/node-urls.ts';
import { BanyanError } from '../core/runtime/errors.ts';

export const noFleet: NodeUrls = ({ path }) => {
  if (!path.startsWith('/fleet/')) return undefined;
  const remedy = 'ask the parent of this agent, or read the cluster itself';
  throw new BanyanError('NotFound', `there is nothing at ${path}: a fleet shows clusters below; ${remedy}`);
};
