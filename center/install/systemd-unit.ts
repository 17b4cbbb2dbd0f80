/** The unit for systemd of a node on a machine. https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html */
import { pathToFileURL } from 'node:url';
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
Documentation=${quoted(pathToFileURL(dir).href)}
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=${[node, ...flags, program, '--config', files.config].map(word).join(' ')}
${Object.entries(environment)
  .map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`)
  .join('\n')}
User=${user}
UMask=0077
Restart=always
RestartSec=2
RestartPreventExitStatus=${badConfiguration}
# The time to end sessions and to flush the store.
TimeoutStopSec=30
LimitNOFILE=65536
# A dump of the memory has keys and Secrets in clear text.
LimitCORE=0
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictSUIDSGID=yes
ReadWritePaths=${quoted(files.data)}

[Install]
WantedBy=multi-user.target
`;
}

/** A word of a command. Only in commands, $ begins a variable. */
function word(text: string): string {
  return quoted(text.replaceAll('$', '$$$$'));
}

/** A value as one word: systemd splits at spaces, and reads % as the beginning of something else. */
function quoted(text: string): string {
  const escaped = text.replaceAll('%', '%%');
  return /[\s"'\\;]/.test(escaped) ? `"${escaped.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"` : escaped;
}
