/** The unit for systemd of a node on a machine. https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html */

import { launchOf } from '../supervisor/launch.ts';
import type { ProgramRole } from '../supervisor/programs.ts';
import type { MachineFiles, ServiceProgram } from './machine-files.ts';

export interface UnitOptions {
  readonly role: ProgramRole;
  readonly dir: string;
  readonly files: MachineFiles;
  readonly program: ServiceProgram;
}

/** An exit code of a program: a mistake in the configuration. Another start would end in the same way. */
const badConfiguration = 2;

export function systemdUnit({ role, dir, files, program: { node, program, user } }: UnitOptions): string {
  const { flags, env } = launchOf(role);
  const environment = { ...env, NODE_COMPILE_CACHE: `${files.data}/compiled` };
  return `[Unit]
Description=Banyan ${role}
Documentation=file://${dir}
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=${[node, ...flags, program, '--config', files.config].map(word).join(' ')}
${Object.entries(environment)
  .map(([name, value]) => `Environment=${word(`${name}=${value}`)}`)
  .join('\n')}
User=${user}
UMask=0077
Restart=always
RestartSec=2
RestartPreventExitStatus=${badConfiguration}
# The time to end sessions and to flush the store.
TimeoutStopSec=30
LimitNOFILE=65536
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictSUIDSGID=yes
ReadWritePaths=${word(files.data)}

[Install]
WantedBy=multi-user.target
`;
}

/** A word of a command: systemd splits at spaces, and reads % and $ as the beginning of something else. */
function word(text: string): string {
  const escaped = text.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /[\s"'\\;]/.test(escaped) ? `"${escaped.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"` : escaped;
}
