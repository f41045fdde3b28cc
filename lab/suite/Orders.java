import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;

/** Clients that order from a stock, in H2 in memory: THREADS clients, ORDERS orders of five items each (TPC-C's new order). */
public class Orders {
    static final String URL = "jdbc:h2:mem:orders;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";
    static final int ITEMS = 3000;

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        int orders = Integer.parseInt(arguments[1]);
        try (Connection connection = DriverManager.getConnection(URL); Statement statement = connection.createStatement()) {
            statement.execute("create table stock (item int primary key, amount int)");
            statement.execute("create table line (client int, nr int, item int, primary key (client, nr, item))");
            for (int item = 0; item < ITEMS; item++) statement.execute("insert into stock values (" + item + ", 1000)");
        }
        Thread[] clients = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int client = i;
            clients[i] = new Thread(() -> order(client, orders));
            clients[i].start();
        }
        for (Thread client : clients) client.join();
        System.out.println("done");
    }

    static void order(int client, int orders) {
        Random random = new Random(client);
        try (Connection connection = DriverManager.getConnection(URL);
                PreparedStatement take = connection.prepareStatement("update stock set amount = amount - 1 where item = ?");
                PreparedStatement note = connection.prepareStatement("insert into line values (?, ?, ?)")) {
            connection.setAutoCommit(false);
            for (int nr = 0; nr < orders; nr++) {
                // In one order, so that clients do not wait for each other in a circle.
                int item = random.nextInt(ITEMS / 5);
                for (int i = 0; i < 5; i++, item += ITEMS / 5) {
                    take.setInt(1, item);
                    take.executeUpdate();
                    note.setInt(1, client);
                    note.setInt(2, nr);
                    note.setInt(3, item);
                    note.executeUpdate();
                }
                connection.commit();
            }
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
    }
}
