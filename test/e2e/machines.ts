/**
 * Machines for the nodes of a rendered topology, as folders of one host: each has its own /var/lib/banyan and its own units, and listens at a loopback address
 * of its own. The commands of a person run as they stand.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isAlive } from '../../core/runtime/process-alive.ts';
import { kubectlProgram } from '../support/kubectl.ts';
import { fixture, type Ran, until } from './local-tree.ts';

export class Machines implements AsyncDisposable {
  /** The folder in which the person works. */
  readonly desk: string;
  readonly #root: string;
  readonly #nameAt: (place: string) => string | undefined;

  /** `nameAt`: the machine that the comment of a block names, such as `on 127.0.0.2`. Undefined: the desk. */
  constructor(root: string, nameAt: (place: string) => string | undefined) {
    this.#root = root;
    this.#nameAt = nameAt;
    this.desk = join(root, 'desk');
    for (const folder of [this.desk, join(root, 'bin')]) mkdirSync(folder, { recursive: true });
    symlinkSync(kubectlProgram, join(root, 'bin/kubectl'));
    this.#script('banyan', `exec ${process.execPath} ${fixture('center/cli/banyan.ts')} "$@"`);
    this.#script('npm', '[ "$1 $2 $3" = "exec -- banyan" ] || exit 127\nshift 2\nexec "$@"');
    this.#script('sudo', '[ "$1" = -u ] && shift 2\nexec "$@"');
    // The unit's program, as systemd starts it: its words, its environment, a log. The package is the checkout here.
    this.#script(
      'systemctl',
      `end() { [ -f "$MACHINE/pid" ] && kill "$(cat "$MACHINE/pid")" && while kill -0 "$(cat "$MACHINE/pid")" 2> /dev/null; do sleep 0.1; done; rm -f "$MACHINE/pid"; }
begin() {
  unit="$MACHINE/$1.service"
  sed -i "s#/var/lib/banyan#$MACHINE/banyan#g" "$unit" "$MACHINE"/banyan/*.yaml
  command=$(sed -n 's/^ExecStart=//p' "$unit" | sed 's#/opt/banyan/lib/node#${process.execPath}#
    s#/opt/banyan/lib/dist/center.js#${fixture('center/main.ts')}#
    s#/opt/banyan/lib/dist/relay.js#${fixture('relay/main.ts')}#
    s#/opt/banyan/lib/dist/agent.js#${fixture('edge-agent/main.ts')}#')
  mapfile -t variables < <(sed -n 's/^Environment=//p' "$unit" | grep -v NODE_COMPILE_CACHE)
  nohup env "\${variables[@]}" $command >> "$MACHINE/log" 2>&1 < /dev/null &
  echo $! > "$MACHINE/pid"
}
service="\${!#}"
case "$1" in
  enable | start) begin "$service" ;;
  restart) end; begin "$service" ;;
  stop | disable) end ;;
esac`,
    );
  }

  /** Runs commands at the place that a block names. */
  run(place: string, commands: string): Ran {
    const name = this.#nameAt(place);
    const machine = join(this.#root, name ?? 'desk');
    mkdirSync(join(machine, 'banyan'), { recursive: true, mode: 0o700 });
    const own = commands.replaceAll('/var/lib/banyan', `${machine}/banyan`).replaceAll('/etc/systemd/system', machine);
    const env = {
      ...process.env,
      PATH: [join(this.#root, 'bin'), process.env.PATH].join(delimiter),
      MACHINE: machine,
    };
    const ran = spawnSync('bash', ['-e', '-o', 'pipefail'], {
      input: own,
      encoding: 'utf8',
      cwd: this.desk,
      env,
      timeout: 180_000,
    });
    return { code: ran.status ?? -1, out: `${ran.stdout}${ran.stderr}`, stdout: ran.stdout };
  }

  /** Follows the steps that a command has printed, as far as `isMeant` takes them. `folder`: what stands for DIR. */
  follow(printed: string, folder: string, isMeant: (title: string) => boolean = () => true): void {
    for (const { title, place, commands } of stepsIn(printed)) {
      if (!isMeant(title)) continue;
      const { code, out } = this.run(place, commands.replaceAll('DIR/', `${folder}/`));
      if (code !== 0) throw new Error(`${place}: ${commands}\n${out}`);
    }
  }

  /** A file of the machine's folder of the node. */
  file(name: string, file: string): string {
    return join(this.#root, name, 'banyan', file);
  }

  async end(name: string): Promise<void> {
    const file = join(this.#root, name, 'pid');
    if (!existsSync(file)) return;
    const pid = Number(readFileSync(file, 'utf8'));
    if (isAlive(pid)) process.kill(pid, 'SIGTERM');
    await until(`${name} has ended`, () => !isAlive(pid));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(readdirSync(this.#root).map((name) => this.end(name)));
  }

  #script(name: string, text: string): void {
    const file = join(this.#root, 'bin', name);
    writeFileSync(file, `#!/bin/bash\n${text}\n`);
    chmodSync(file, 0o755);
  }
}

interface PrintedStep {
  readonly title: string;
  readonly place: string;
  readonly commands: string;
}

/** Steps have a title, then blocks of indented commands, each with its place in a comment. */
function stepsIn(printed: string): PrintedStep[] {
  const steps: { title: string; place: string; commands: string }[] = [];
  let title = '';
  for (const line of printed.split('\n')) {
    const [, place] = /^ {2}# (.*)$/.exec(line) ?? [];
    if (place !== undefined) steps.push({ title, place, commands: '' });
    else if (line.startsWith('  ') && !line.startsWith('    ') && steps.length > 0)
      steps.at(-1)!.commands += `${line.trim()}\n`;
    else if (line.endsWith(':')) title = line;
  }
  return steps;
}
