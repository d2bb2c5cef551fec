// Refuses a version in package.json that CHANGELOG.md does not begin with, or says nothing about. Part of `npm run check`.
import { readFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const [first = ''] = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m).slice(1);
const [heading = '', ...text] = first.split('\n');
if (heading.trim().split(' ')[0] !== version || text.every((line) => line.trim() === '')) {
  console.error(
    `CHANGELOG.md: its first section must be "## ${version}", the version in package.json, and say what changed`,
  );
  process.exitCode = 1;
}
