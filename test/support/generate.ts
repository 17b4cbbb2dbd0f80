/**
 * `npm run generate`: writes every generated file. With `--check`, writes nothing, names the files that differ from the committed ones, and ends with 1 if
 * there are any.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { topologySchema } from '../../center/topology/parse.ts';
import { agentConfigSchema } from '../../edge-agent/config/config.ts';
import { nodeConfigSchema } from '../../relay/config/config.ts';
import { authorizationPage } from './authorization-page.ts';
import { withCommandTables } from './command-tables.ts';
import { type ConfigPage, configPage } from './config-page.ts';
import { withEntryTables } from './entry-tables.ts';
import { licencesPage } from './licences.ts';
import type { LockFile } from './lock-file.ts';
import { withStatusTable } from './status-table.ts';

interface Generator {
  /** The source of the files, for messages. */
  readonly source: string;
  /** Writes the files into `directory`. Returns their paths, from the root of the project. */
  generate(directory: string): readonly string[];
}

const root = join(import.meta.dirname, '../..');
/** Add a new generator at the end of this list. */
const generators: readonly Generator[] = [
  { source: 'proto/mesh.proto', generate: generateFrames },
  { source: 'center/topology/parse.ts', generate: generateTopologySchema },
  { source: 'core/entries/entry-kinds.ts', generate: generateEntryTables },
  { source: 'core/summary/status-rules.ts', generate: generateStatusTable },
  { source: 'test/support/authorization-rows.ts', generate: generateAuthorizationPage },
  { source: 'package-lock.json', generate: generateLicences },
  { source: 'relay/config/config.ts', generate: (out) => generateConfig(out, 'node', nodeConfigSchema, nodePage) },
  {
    source: 'edge-agent/config/config.ts',
    generate: (out) => generateConfig(out, 'agent', agentConfigSchema, agentPage),
  },
  { source: 'center/cli/program.ts', generate: generateCommandTables },
];

const nodePage = {
  title: 'The configuration of a center or a relay',
  intro: [
    'One YAML file, which `--config` names. The program checks the whole file before it starts. For a mistake, it prints file, line, field and a remedy, and ends with exit code 2. `banyan init` writes such a file ([machines](../operations/virtual-machines.md)), and so does the chart ([Kubernetes](../operations/kubernetes.md)); `banyan up` writes one for each node of a topology.',
  ],
};
const agentPage = {
  title: 'The configuration of an agent',
  intro: [
    'One YAML file, which `--config` names. The program checks the whole file before it starts. For a mistake, it prints file, line, field and a remedy, and ends with exit code 2. `banyan init agent` writes such a file ([machines](../operations/virtual-machines.md)), and so does the chart ([agents](../install-agent.md)).',
  ],
};
const check = process.argv.includes('--check');
const directory = mkdtempSync(join(tmpdir(), 'banyan-generate-'));
let different = 0;
try {
  for (const { source, generate } of generators) {
    for (const file of generate(directory)) {
      const made = readFileSync(join(directory, file), 'utf8');
      const committed = join(root, file);
      if (existsSync(committed) && readFileSync(committed, 'utf8') === made) continue;
      different++;
      if (check) {
        console.error(`${file} is not what ${source} gives: run npm run generate and commit it`);
        continue;
      }
      mkdirSync(dirname(committed), { recursive: true });
      writeFileSync(committed, made);
      console.log(`${file} written from ${source}`);
    }
  }
} finally {
  rmSync(directory, { recursive: true });
}
process.exit(check && different > 0 ? 1 : 0);

function generateEntryTables(out: string): readonly string[] {
  const file = 'docs/architecture.md';
  mkdirSync(dirname(join(out, file)), { recursive: true });
  writeFileSync(join(out, file), withEntryTables(readFileSync(join(root, file), 'utf8')));
  return [file];
}

function generateStatusTable(out: string): readonly string[] {
  const file = 'docs/reference/aggregated-status.md';
  mkdirSync(dirname(join(out, file)), { recursive: true });
  writeFileSync(join(out, file), withStatusTable(readFileSync(join(root, file), 'utf8')));
  return [file];
}

function generateCommandTables(out: string): readonly string[] {
  const file = 'docs/reference/cli.md';
  mkdirSync(dirname(join(out, file)), { recursive: true });
  writeFileSync(join(out, file), withCommandTables(readFileSync(join(root, file), 'utf8')));
  return [file];
}

function generateAuthorizationPage(out: string): readonly string[] {
  const file = 'docs/reference/authorization.md';
  mkdirSync(dirname(join(out, file)), { recursive: true });
  writeFileSync(join(out, file), authorizationPage());
  return [file];
}

function generateFrames(out: string): readonly string[] {
  const file = 'core/wire/generated/mesh.ts';
  // The path of the plugin is relative to proto/, and its output is relative to --output. So the template names only files of the project.
  execFileSync(
    join(root, 'node_modules/.bin/buf'),
    ['generate', '--template', 'buf.gen.yaml', '--output', join(out, 'proto')],
    {
      cwd: join(root, 'proto'),
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH ?? ''}` },
    },
  );
  const path = join(out, file);
  writeFileSync(path, withoutCopies(readFileSync(path, 'utf8')));
  return [file];
}

/** Writes the schema for editors. With `# yaml-language-server: $schema=…`, an editor completes and checks a topology while somebody writes it. */
function generateTopologySchema(out: string): readonly string[] {
  const file = 'docs/reference/topology.schema.json';
  const schema = z.toJSONSchema(topologySchema, { io: 'input', unrepresentable: 'any' });
  mkdirSync(dirname(join(out, file)), { recursive: true });
  writeFileSync(join(out, file), `${JSON.stringify(schema, undefined, 2)}\n`);
  return [file];
}

/** The fields of a configuration as a page, and their schema for editors. */
function generateConfig(
  out: string,
  name: string,
  schema: z.ZodType,
  page: Omit<ConfigPage, 'schemaFile'>,
): readonly string[] {
  const files = [`docs/reference/${name}.md`, `docs/reference/${name}.schema.json`] as const;
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' });
  mkdirSync(join(out, 'docs/reference'), { recursive: true });
  writeFileSync(join(out, files[0]), configPage(json, { ...page, schemaFile: `${name}.schema.json` }));
  writeFileSync(join(out, files[1]), `${JSON.stringify(json, undefined, 2)}\n`);
  return files;
}

/**
 * Changes the code that ts-proto generates, to save time. ts-proto copies each bytes field that it types as Buffer. A frame's bytes belong only to the frame,
 * so views of them are enough: a batch needs a third to four fifths less time, depending on the size of its bodies. Before ts-proto reads a field, it also
 * makes an empty buffer for the field. All fields can share one empty buffer, because it can't change.
 */
function withoutCopies(code: string): string {
  const copying = 'Buffer.from(reader.bytes())';
  if (!code.includes(copying))
    throw new Error(`ts-proto no longer writes ${copying}: look again at what it writes instead`);
  const shared = code.replaceAll(copying, 'viewOf(reader.bytes())').replaceAll('Buffer.alloc(0)', 'noBytes');
  return `${shared}
const noBytes = Buffer.alloc(0);

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
`;
}

function generateLicences(out: string): readonly string[] {
  const file = 'docs/reference/licences.md';
  mkdirSync(dirname(join(out, file)), { recursive: true });
  writeFileSync(
    join(out, file),
    licencesPage(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as LockFile),
  );
  return [file];
}
