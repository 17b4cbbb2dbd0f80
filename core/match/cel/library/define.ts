/** How the libraries declare their functions to the engine. */
import type { Environment } from '@marcbachmann/cel-js';

/** All functions are synchronous. The engine would check each result for a promise without this option. */
const sync = { async: false } as const;

export type Define = (signature: string, handler: (...args: never[]) => unknown) => void;

export function definer(environment: Environment): Define {
  return (signature, handler) => {
    environment.registerFunction(signature, handler as (...args: unknown[]) => unknown, sync);
  };
}
