/** Finds the program of each role. In a checkout, the program is TypeScript. In the published package, each role has one bundled file. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export type ProgramRole = 'center' | 'relay' | 'agent';

const inCheckout: Record<ProgramRole, string> = {
  center: '../main.ts',
  relay: '../../relay/main.ts',
  agent: '../../edge-agent/main.ts',
};

/** All bundles are in one folder: see test/support/build.ts. */
const inPackage: Record<ProgramRole, string> = { center: './center.js', relay: './relay.js', agent: './agent.js' };

export function programOf(role: ProgramRole): string {
  const bundled = fileURLToPath(new URL(inPackage[role], import.meta.url));
  return existsSync(bundled) ? bundled : fileURLToPath(new URL(inCheckout[role], import.meta.url));
}
