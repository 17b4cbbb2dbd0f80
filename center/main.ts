/** The program of the center: a node without a parent. */
import { runNode } from '../relay/process/run-node.ts';

await runNode('center', {}, async (config, log) => {
  if (!('tree' in config.pki)) return config;
  // Loaded only here: other centers need no library that makes certificates before a node joins.
  const { withOwnAuthority } = await import('./supervisor/own-authority.ts');
  return withOwnAuthority(config, config.pki, log);
});
