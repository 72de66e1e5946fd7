/** Pieces of code, configuration and output as people paste them: lines written for this purpose, strung together. */
import type { Dice } from "./Dice.ts"

const lines = (text: string): ReadonlyArray<string> => text.split("\n")

const languages: ReadonlyArray<ReadonlyArray<string>> = [
  lines(`import os
import numpy as np
import pandas as pd
from datetime import datetime
class Player:
    def __init__(self, name, hp=100):
        self.name = name
        self.hp = hp
def load(path):
    with open(path, "r") as f:
        return json.load(f)
    for i, row in df.iterrows():
        if row["age"] > 18 and row["city"] is not None:
            total += row["price"] * 1.19
    return [x ** 2 for x in xs if x % 2 == 0]
try:
    response = requests.get(url, timeout=5)
except Exception as e:
    print(f"error: {e}")
df = df.groupby(["user_id", "day"]).agg({"amount": "sum"}).reset_index()
model.fit(X_train, y_train, epochs=10, batch_size=32)
if __name__ == "__main__":
    main()`),
  lines(`const express = require("express");
import React, { useState, useEffect } from "react";
const [items, setItems] = useState([]);
useEffect(() => { fetchItems(); }, [page]);
export default function App({ user, onClose }) {
  return <div className="card" onClick={() => onClose(user.id)}>{user.name}</div>;
app.get("/api/users/:id", async (req, res) => {
  const result = await db.query("SELECT * FROM users WHERE id = $1", [req.params.id]);
  res.json({ ok: true, data: result.rows[0] });
});
document.querySelector("#btn").addEventListener("click", (e) => e.preventDefault());
for (let i = 0; i < arr.length; i++) { if (arr[i] === target) return i; }
const sum = nums.reduce((a, b) => a + b, 0);
interface Props { title: string; count?: number }
let timer = setTimeout(() => console.log("done"), 1000);
module.exports = { add, remove };`),
  lines(`#include <stdio.h>
#include <iostream>
using namespace std;
int main(int argc, char **argv) {
    int *buf = malloc(n * sizeof(int));
    for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }
    if (ptr == NULL) return -1;
    uint32_t x = (reg >> 8) & 0xFF;
    std::vector<std::string> names = {"a", "b"};
    printf("%d %s\\n", count, name);
    while (!done && retries-- > 0) { usleep(1000); }
    digitalWrite(LED_PIN, HIGH);
struct node { int value; struct node *next; };
template <typename T> T max(T a, T b) { return a > b ? a : b; }
    return 0;
}`),
  lines(`public class OrderService {
    private final Map<String, Integer> stock = new HashMap<>();
    @Autowired private UserRepository repository;
    public Optional<Order> find(long id) throws IOException {
        return orders.stream().filter(o -> o.getId() == id).findFirst();
    }
    public static void main(String[] args) {
        System.out.println("Hello");
using System.Collections.Generic;
public async Task<IActionResult> Get(int id) => Ok(await _context.Items.FindAsync(id));
    foreach (var item in list) { Console.WriteLine(item.Name); }
fun main() { val xs = listOf(1, 2, 3).map { it * 2 } }
fn parse(input: &str) -> Result<u32, ParseIntError> { input.trim().parse() }
let mut map: HashMap<String, Vec<usize>> = HashMap::new();
func (s *Server) Handle(w http.ResponseWriter, r *http.Request) {
    if err != nil { return fmt.Errorf("read: %w", err) }`),
  lines(`SELECT c.name, SUM(o.total) AS revenue
FROM orders o
LEFT JOIN customers c ON c.id = o.customer_id
WHERE o.created_at >= '2023-01-01' AND o.status <> 'cancelled'
GROUP BY c.name HAVING SUM(o.total) > 1000
ORDER BY revenue DESC LIMIT 10;
CREATE TABLE users (id SERIAL PRIMARY KEY, email VARCHAR(255) UNIQUE NOT NULL);
INSERT INTO logs (level, message) VALUES ('warn', 'slow');
UPDATE accounts SET balance = balance - 50 WHERE id = 7;
WITH ranked AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY day ORDER BY score) AS rn FROM games)
CREATE INDEX idx_orders_day ON orders (day);`),
  lines(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Page</title></head>
<div class="container"><button id="save" class="btn btn-primary">Save</button></div>
<input type="text" name="email" placeholder="Email" required>
<script src="app.js"></script>
.card { display: flex; justify-content: space-between; padding: 16px; }
@media (max-width: 600px) { .menu { display: none; } }
body { font-family: sans-serif; background: #fafafa; }
<ul><li v-for="item in items" :key="item.id">{{ item.title }}</li></ul>
</div></body></html>`),
  lines(`#!/bin/bash
set -euo pipefail
for f in *.log; do gzip "$f"; done
grep -rn "timeout" src | awk -F: '{print $1}' | sort | uniq -c
docker run -d -p 8080:80 --name web -v $(pwd):/app nginx:latest
kubectl get pods -n prod -o wide
sudo systemctl restart ssh
ip addr add 10.0.0.5/24 dev eth0
git rebase -i HEAD~3
curl -X POST https://api.example.com/v1/items -H "Content-Type: application/json" -d '{"a": 1}'
ffmpeg -i in.mp4 -c:v libx264 -crf 23 out.mkv
server { listen 443 ssl; location / { proxy_pass http://127.0.0.1:3000; } }
apiVersion: apps/v1
kind: Deployment
  replicas: 3
version: "3.8"
services:
  db:
    image: postgres:15`),
  lines(`Traceback (most recent call last):
  File "main.py", line 42, in <module>
ValueError: could not convert string to float: 'abc'
java.lang.NullPointerException: Cannot invoke "String.length()"
    at com.example.App.run(App.java:17)
error[E0382]: borrow of moved value: \`config\`
npm ERR! code ERESOLVE could not resolve dependency tree
Uncaught TypeError: Cannot read properties of undefined (reading 'map')
ERROR 1064 (42000): You have an error in your SQL syntax
CMake Error at CMakeLists.txt:12 (find_package)
[ERROR] Failed to execute goal: Compilation failure
WARN: connection reset by peer, retrying in 5s`)
]

const linesMax = 24

/** From one to `linesMax` lines of one language, in a fence about half the time. */
export const snippet = (dice: Dice): string => {
  const language = dice.pick(languages)
  const from = dice.below(language.length)
  const count = 1 + dice.below(linesMax)
  const code = Array.from({ length: count }, (_, index) =>
    dice.chance(0.7) ? (language[(from + index) % language.length] ?? "") : dice.pick(language)
  ).join("\n")
  return dice.chance(0.5) ? `\`\`\`\n${code}\n\`\`\`` : code
}
